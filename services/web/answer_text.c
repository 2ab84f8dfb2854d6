/* SPDX-License-Identifier: MIT
 * answer_text.c - see answer_text.h. Everything that is not a literal passes buf_put_html. */
#include "services/web/answer_text.h"

#include "shared/base/html.h"

enum { HEAD_LEVEL_MAX = 6 };

static struct str from(struct str text, size_t n)
{
    return (struct str){text.at + n, text.n - n};
}

/* The bytes of the mark `[N]` that `text` begins with, if there is a source N; otherwise 0. */
static size_t measure_mark(struct str text, size_t source_n, size_t *ret_number)
{
    size_t i = 1, number = 0;
    if (text.n < 3 || text.at[0] != '[')
        return 0;
    while (i < text.n && text.at[i] >= '0' && text.at[i] <= '9' && number <= source_n)
        number = number * 10 + (size_t)(text.at[i++] - '0');
    if (i == text.n || text.at[i] != ']' || number < 1 || number > source_n)
        return 0;
    *ret_number = number;
    return i + 1;
}

static size_t count(struct str text, char c)
{
    size_t n = 0;
    while (n < text.n && text.at[n] == c)
        n++;
    return n;
}

/* The code that begins with so many backticks: its bytes without them. Returns false if as many do
 * not follow in the line. */
static bool find_code(struct str line, size_t tick_n, size_t *ret_n)
{
    for (size_t i = tick_n; i < line.n;) {
        size_t n = count(from(line, i), '`');
        if (n == tick_n) {
            *ret_n = i - tick_n;
            return true;
        }
        i += n > 0 ? n : 1;
    }
    return false;
}

/* Returns how much of the line that was; 0: an ordinary character. *is_unclosed: no code ends in
 * this line, so that a line of backticks is not searched again for each of them. */
static size_t put_special(struct buf *b, struct str rest, size_t source_n, bool *is_unclosed)
{
    size_t number, n = measure_mark(rest, source_n, &number);
    if (n > 0) {
        buf_printf(b, "<a href=\"#source-%zu\">[%zu]</a>", number, number);
        return n;
    }
    size_t tick_n = count(rest, '`');
    if (tick_n == 0)
        return 0;
    if (*is_unclosed || !find_code(rest, tick_n, &n)) {
        *is_unclosed = true;
        buf_put_html(b, (struct str){rest.at, tick_n});
        return tick_n;
    }
    buf_lit(b, "<code>");
    buf_put_html(b, (struct str){rest.at + tick_n, n});
    buf_lit(b, "</code>");
    return 2 * tick_n + n;
}

static void put_line(struct buf *b, struct str line, size_t source_n)
{
    bool is_unclosed = false;
    size_t level = count(line, '#');
    bool is_head = level > 0 && level <= HEAD_LEVEL_MAX && level < line.n && line.at[level] == ' ';
    if (is_head) {
        buf_lit(b, "<strong>");
        line = from(line, level + 1);
    }
    for (size_t start = 0, i = 0; i <= line.n;) {
        bool is_plain = i < line.n && line.at[i] != '`' && line.at[i] != '[';
        if (is_plain) {
            i++;
            continue;
        }
        buf_put_html(b, (struct str){line.at + start, i - start});
        size_t n = i < line.n ? put_special(b, from(line, i), source_n, &is_unclosed) : 1;
        start = n > 0 ? i + n : i;
        i += n > 0 ? n : 1;
    }
    if (is_head)
        buf_lit(b, "</strong>");
}

static bool is_fence(struct str line)
{
    line = str_trim(line);
    return str_has_prefix(line, STR("```")) || str_has_prefix(line, STR("~~~"));
}

void answer_text_put(struct buf *b, struct str text, size_t source_n)
{
    bool is_code = false, is_begin = true; /* of the text, or of what follows a fence */
    while (text.at != NULL) {
        struct str line = str_cut(&text, '\n');
        if (is_fence(line)) {
            buf_put(b, is_code ? STR("</code></pre>") : STR("<pre><code>"));
            is_code = !is_code;
            is_begin = true;
            continue;
        }
        if (is_begin && !is_code && line.n == 0)
            continue;
        if (!is_begin)
            buf_put_char(b, '\n');
        is_begin = false;
        if (is_code)
            buf_put_html(b, line);
        else
            put_line(b, line, source_n);
    }
    if (is_code)
        buf_lit(b, "</code></pre>");
}
