/* SPDX-License-Identifier: MIT
 * ask_print.c - prints for `parley ask`: the answer to standard output as it comes, everything else
 * to standard error. A model wrote these texts, so a terminal gets no control character of them; a
 * pipe or a file gets them as they are. */
#include "services/client/ask.h"

#include "shared/base/shown.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { SHOWN_MAX_BYTES = 64 << 20, REASON_SHOWN_BYTES = 1000, NUMBER_BYTES = 16 };

static void write_out(struct ask *x, struct str text)
{
    if (text.n > 0 && fwrite(text.at, 1, text.n, stdout) != text.n)
        x->is_unwritable = true;
    if (fflush(stdout) != 0)
        x->is_unwritable = true;
}

static void write_shown(struct ask *x, struct str text)
{
    struct buf shown;
    if (!x->is_terminal) {
        write_out(x, text);
        return;
    }
    buf_init(&shown, SHOWN_MAX_BYTES);
    buf_put_shown_text(&shown, text);
    write_out(x, buf_str(&shown));
    buf_fini(&shown);
}

static void end_thought(struct ask *x)
{
    if (x->is_thinking)
        fputs(x->is_error_terminal ? "\033[0m\n\n" : "\n\n", stderr);
    x->is_thinking = false;
}

/* Prints the answer again from its start, because what was printed is not its beginning. */
static void begin_again(struct ask *x)
{
    write_out(x, STR("\n"));
    ask_complain(x, "the answer begins again, because its engine was lost or has corrected it",
                 STR(""));
    buf_clear(&x->printed);
}

static void print_from(struct ask *x, struct str text)
{
    struct str printed = buf_str(&x->printed);
    if (text.n < printed.n && str_has_prefix(printed, text))
        return; /* an engine writes it once more */
    status_line_clear(&x->calls.progress);
    end_thought(x);
    if (!str_has_prefix(text, printed))
        begin_again(x);
    struct str more = {text.at + x->printed.n, text.n - x->printed.n};
    write_shown(x, more);
    buf_put(&x->printed, more);
}

void ask_print_text(struct ask *x)
{
    if (!x->is_json && !x->is_whole && x->text.n > 0)
        print_from(x, buf_str(&x->text));
}

void ask_print_think(struct ask *x, struct str text)
{
    struct buf shown;
    if (x->is_json || text.n == 0)
        return;
    if (!x->shows_think) {
        if (x->printed.n == 0) /* it would be drawn over the answer */
            status_line_show(&x->calls.progress, "thinking ...");
        return;
    }
    status_line_clear(&x->calls.progress);
    if (!x->is_thinking && x->is_error_terminal)
        fputs("\033[2m", stderr);
    x->is_thinking = true;
    buf_init(&shown, SHOWN_MAX_BYTES);
    buf_put_shown_text(&shown, text);
    fwrite(shown.at, 1, shown.n, stderr);
    buf_fini(&shown);
}

void ask_print_answer(struct ask *x, struct str answer)
{
    /* The checked answer of a question over documents has no white space around it. */
    if (!str_eq(str_trim(buf_str(&x->printed)), str_trim(answer))) {
        struct str printed = buf_str(&x->printed);
        if (answer.n < printed.n && str_has_prefix(printed, answer))
            begin_again(x);
        print_from(x, answer);
    }
    status_line_clear(&x->calls.progress);
    end_thought(x);
    if (x->printed.n == 0 || x->printed.at[x->printed.n - 1] != '\n')
        write_out(x, STR("\n"));
}

/* --- sources ---------------------------------------------------------------------------------- */

/* Returns whether the answer has the mark of that number. */
static bool is_cited(const struct ask *x, size_t number)
{
    char mark[NUMBER_BYTES];
    int n = snprintf(mark, sizeof mark, "[%zu]", number);
    return str_holds(buf_str(&x->printed), (struct str){mark, (size_t)n});
}

static void put_source(struct buf *b, const json_t *source, size_t number)
{
    struct str title = json_member_str(source, "documentTitle");
    struct str url = json_member_str(source, "url");
    const json_t *page = json_object_get(source, "page");
    buf_printf(b, "[%zu] ", number);
    buf_put_shown(b, url.n > 0 ? url : title.n > 0 ? title : STR("?"));
    if (json_is_integer(page))
        buf_printf(b, ", page %lld", (long long)json_integer_value(page));
    buf_put_char(b, '\n');
}

void ask_print_sources(struct ask *x, const json_t *sources)
{
    size_t i, cited_n = 0;
    json_t *source;
    struct buf list;
    json_array_foreach(sources, i, source) cited_n += is_cited(x, i + 1);
    buf_init(&list, SHOWN_MAX_BYTES);
    json_array_foreach(sources, i, source)
    {
        if (cited_n == 0 || is_cited(x, i + 1))
            put_source(&list, source, i + 1);
    }
    if (list.n > 0) {
        write_out(x, STR("\nSources:\n"));
        write_out(x, buf_str(&list));
    }
    buf_fini(&list);
}

/* --- the rest --------------------------------------------------------------------------------- */

void ask_print_json(struct ask *x, const json_t *value)
{
    struct buf line, shown;
    buf_init(&line, SHOWN_MAX_BYTES);
    buf_init(&shown, SHOWN_MAX_BYTES);
    buf_put_json_value(&line, value);
    if (x->is_terminal)
        buf_put_shown(&shown, buf_str(&line));
    else
        buf_put(&shown, buf_str(&line));
    buf_put_char(&shown, '\n');
    write_out(x, buf_str(&shown));
    buf_fini(&line);
    buf_fini(&shown);
}

void ask_complain(struct ask *x, const char *text, struct str reason)
{
    struct buf shown;
    end_thought(x);
    buf_init(&shown, REASON_SHOWN_BYTES);
    buf_put_shown(&shown, reason);
    node_calls_complain(&x->calls, "%s%s%.*s", text, shown.n > 0 ? ": " : "",
                        STR_ARG(buf_str(&shown)));
    buf_fini(&shown);
}
