/* SPDX-License-Identifier: MIT
 * progress.c - see progress.h. The bar goes to standard error and permanent lines to standard
 * output, so output can be piped while the bar is visible. Names come from outside: invisible
 * characters are removed. */
#include "services/indexer/progress.h"

#include "shared/base/clock.h"
#include "shared/base/shown.h"
#include "shared/extract/extract.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    BAR_CHARS = 24,
    DRAW_EVERY_MS = 100,
    LINE_MAX_BYTES = 1 << 16,
    NAMES_MAX_BYTES = 1000 /* as a line of progress takes it */
};

static void put_shown(char *room, size_t size, const char *text)
{
    struct buf shown;
    buf_init(&shown, LINE_MAX_BYTES);
    buf_put_shown(&shown, str_of(text));
    size_t n = shown.n, from = n >= size ? n - size + 1 : 0;
    while (from < n && ((unsigned char)shown.at[from] & 0xc0) == 0x80)
        from++; /* not in the middle of a character */
    snprintf(room, size, "%.*s", (int)(n - from), n == 0 ? "" : shown.at + from);
    buf_fini(&shown);
}

void progress_clear(struct progress *p)
{
    if (p->is_drawn)
        fputs("\r\033[K", stderr);
    p->is_drawn = false;
}

static void draw(struct progress *p, const char *stage, unsigned percent)
{
    uint64_t now_ms = clock_mono_ms();
    if (!p->is_bar || (p->is_drawn && now_ms < p->drawn_ms + DRAW_EVERY_MS))
        return;
    char bar[BAR_CHARS + 1];
    size_t full = p->bytes == 0 ? 0 : (size_t)(BAR_CHARS * p->done_bytes / p->bytes);
    memset(bar, '-', BAR_CHARS);
    memset(bar, '#', full > BAR_CHARS ? BAR_CHARS : full);
    bar[BAR_CHARS] = 0;
    fprintf(stderr, "\r\033[K[%s] %zu/%llu %s, %.1f/%.1f MiB  %s %s %u%%", bar, p->done_n,
            COUNTED(p->file_n, "file"), (double)p->done_bytes / (1 << 20),
            (double)p->bytes / (1 << 20), p->name, stage, percent);
    p->is_drawn = true;
    p->drawn_ms = now_ms;
}

void progress_init(struct progress *p, size_t file_n, uint64_t bytes, bool is_json)
{
    const char *terminal = getenv("TERM");
    *p = (struct progress){.file_n = file_n, .bytes = bytes, .is_json = is_json};
    p->is_bar =
        !is_json && isatty(STDERR_FILENO) && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

void progress_begin(struct progress *p, const char *name)
{
    put_shown(p->name, sizeof p->name, name);
    draw(p, "", 0);
}

void progress_report(struct progress *p, const char *stage, unsigned percent)
{
    draw(p, stage, percent);
}

/* One JSON object on a line of its own. */
static void print_json(const char *what, const char *name, const char *reason)
{
    struct buf line, clean;
    buf_init(&line, LINE_MAX_BYTES);
    buf_init(&clean, LINE_MAX_BYTES);
    extract_put_clean(&clean, str_of(name));
    buf_lit(&line, "{\"path\":");
    buf_put_json(&line, buf_str(&clean));
    buf_lit(&line, ",\"outcome\":");
    buf_put_json(&line, str_of(what));
    if (reason != NULL) {
        buf_lit(&line, ",\"reason\":");
        buf_put_json(&line, str_of(reason));
    }
    buf_lit(&line, "}\n");
    fwrite(line.at, 1, line.n, stdout);
    fflush(stdout);
    buf_fini(&clean);
    buf_fini(&line);
}

void progress_note(struct progress *p, const char *what, const char *name, const char *reason)
{
    char shown[1024];
    if (p->is_json) {
        print_json(what, name, reason);
        return;
    }
    progress_clear(p);
    put_shown(shown, sizeof shown, name);
    printf("%-9s %s%s%s\n", what, shown, reason == NULL ? "" : ": ", reason == NULL ? "" : reason);
    fflush(stdout);
}

static void note_repeat(struct progress *p, const char *what, const struct repeat *repeat,
                        size_t from)
{
    size_t n = repeat->n - from;
    struct buf names;
    buf_init(&names, NAMES_MAX_BYTES);
    if (n > 1 && from > 0)
        buf_printf(&names, "%llu more %s (", COUNTED(n, "file"));
    else if (n > 1)
        buf_printf(&names, "%zu (", n);
    repeat_put_names(&names, repeat, from);
    if (n > 1)
        buf_put_char(&names, ')');
    if (names.is_over) { /* long ones */
        buf_clear(&names);
        buf_printf(&names, "%llu %s", COUNTED(n, "file"));
    }
    buf_terminate(&names);
    progress_note(p, what, names.at, repeat->text);
    buf_fini(&names);
}

void progress_note_repeats(struct progress *p, const char *what, const struct repeats *repeats,
                           size_t from)
{
    for (size_t i = 0; i < repeats->n; i++)
        if (repeats->at[i].n > from)
            note_repeat(p, what, &repeats->at[i], from);
}

void progress_end(struct progress *p, const char *what, const char *name, uint64_t size_bytes,
                  const char *reason, bool is_quiet)
{
    p->done_n++;
    p->done_bytes += size_bytes;
    if (!is_quiet || p->is_json)
        progress_note(p, what, name, reason);
    draw(p, "", 0);
}
