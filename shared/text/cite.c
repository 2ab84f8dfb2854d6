/* SPDX-License-Identifier: MIT
 * cite.c - see cite.h. It goes byte by byte and holds back only what it cannot judge yet: a few
 * bytes, so that people see text as soon as the model writes it. */
#include "shared/text/cite.h"

static void put_held(struct cite_filter *filter, struct buf *out)
{
    buf_put(out, (struct str){filter->held, filter->held_n});
    filter->held_n = 0;
}

/* Decides about a whole mark, held with perhaps a space before it. */
static void put_mark(struct cite_filter *filter, size_t space_n, struct buf *out)
{
    unsigned most = filter->source_n < CITE_MAX ? (unsigned)filter->source_n : CITE_MAX;
    bool is_named[CITE_MAX + 1] = {false}, is_first = true;
    marks_name((struct str){filter->held + space_n, filter->held_n - space_n}, is_named, most);
    for (unsigned number = 1; number <= most; number++) {
        if (!is_named[number])
            continue;
        buf_put(out, (struct str){" ", is_first ? space_n : 0});
        size_t at = out->n;
        buf_printf(out, "[%u]", number);
        if (filter->on_mark != NULL)
            filter->on_mark(filter, number, out, at);
        filter->is_used[number] = true;
        is_first = false;
    }
    filter->held_n = 0;
}

static void track_code(struct cite_filter *filter, char c)
{
    if (c == '`') {
        filter->ticks++;
        return;
    }
    if (filter->ticks > 0) {
        if (filter->code == 0)
            filter->code = filter->ticks;
        else if (filter->code == filter->ticks)
            filter->code = 0;
        filter->ticks = 0;
    }
    /* Code within a line ends with the line: a lone backtick must not switch the filter off. */
    if (c == '\n' && filter->code < 3)
        filter->code = 0;
}

static void cite_char(struct cite_filter *filter, char c, struct buf *out);

/* It has become no mark: its first character is put, what follows may still begin one. */
static void let_go(struct cite_filter *filter, size_t space_n, struct buf *out)
{
    char held[CITE_HELD_MAX];
    size_t n = filter->held_n;
    memcpy(held, filter->held, n);
    filter->held_n = 0;
    buf_put(out, (struct str){held, space_n + 1});
    for (size_t i = space_n + 1; i < n; i++)
        cite_char(filter, held[i], out);
}

/* Returns whether `c` continues what is held; if so, it is taken. */
static bool hold_on(struct cite_filter *filter, char c, size_t space_n, struct buf *out)
{
    filter->held[filter->held_n] = c;
    struct str held = {filter->held + space_n, filter->held_n + 1 - space_n};
    enum marks_fit fit = held.n > MARKS_MAX_BYTES ? MARKS_NONE : marks_fit(held, NULL);
    if (fit == MARKS_NONE)
        return false;
    filter->held_n++;
    if (fit == MARKS_WHOLE)
        put_mark(filter, space_n, out);
    return true;
}

static void cite_char(struct cite_filter *filter, char c, struct buf *out)
{
    for (;;) {
        size_t space_n = filter->held_n > 0 && filter->held[0] == ' ';
        if (filter->held_n == space_n)
            break;
        if (hold_on(filter, c, space_n, out))
            return;
        let_go(filter, space_n, out);
    }
    track_code(filter, c);
    bool is_code = filter->code > 0 || filter->ticks > 0;
    if (!is_code && marks_fit((struct str){&c, 1}, NULL) == MARKS_BEGUN) {
        filter->held[filter->held_n++] = c;
        return;
    }
    put_held(filter, out);
    if (!is_code && c == ' ')
        filter->held[filter->held_n++] = c;
    else
        buf_put_char(out, c);
}

void cite_feed(struct cite_filter *filter, struct str text, struct buf *out)
{
    if (filter->source_n == 0) {
        buf_put(out, text);
        return;
    }
    for (size_t i = 0; i < text.n; i++)
        cite_char(filter, text.at[i], out);
}

void cite_finish(struct cite_filter *filter, struct buf *out)
{
    put_held(filter, out);
}
