/* SPDX-License-Identifier: MIT
 * marks.c - see marks.h. */
#include "shared/text/marks.h"

enum { MARK_MAX_BYTES = 64 };

/* How many bytes the mark has that `s` begins with; 0: it begins with none. */
static size_t measure_mark(struct str s)
{
    bool has_digit = false;
    if (s.n == 0 || *s.at != '[')
        return 0;
    for (size_t i = 1; i < s.n && i < MARK_MAX_BYTES; i++) {
        char c = s.at[i];
        if (c == ']')
            return has_digit ? i + 1 : 0;
        if (c >= '0' && c <= '9')
            has_digit = true;
        else if (strchr(" ,;-", c) == NULL || c == 0)
            return 0;
    }
    return 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The text before its list of sources: "Sources:" and then a mark, or nothing more. */
static struct str without_sources(struct str text)
{
    static const char head[] = "Sources:";
    const size_t head_n = sizeof head - 1;
    if (text.n == 0) /* it may have no bytes to look at */
        return text;
    const char *at = text.at, *end = text.at + text.n;
    while ((at = memmem(at, (size_t)(end - at), head, head_n)) != NULL) {
        struct str rest = str_trim((struct str){at + head_n, (size_t)(end - at) - head_n});
        bool stands_alone = at == text.at || is_space(at[-1]);
        if (stands_alone && (rest.n == 0 || measure_mark(rest) > 0))
            return str_trim((struct str){text.at, (size_t)(at - text.at)});
        at += head_n;
    }
    return text;
}

void marks_put_without(struct buf *b, struct str text)
{
    size_t before = b->n;
    text = without_sources(str_trim(text));
    for (size_t i = 0; i < text.n;) {
        size_t mark = measure_mark((struct str){text.at + i, text.n - i});
        if (mark == 0) {
            buf_put_char(b, text.at[i++]);
            continue;
        }
        while (b->n > before && (b->at[b->n - 1] == ' ' || b->at[b->n - 1] == '\t'))
            b->n--;
        i += mark;
    }
    while (b->n > before && is_space(b->at[b->n - 1]))
        b->n--;
}
