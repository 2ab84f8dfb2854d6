/* SPDX-License-Identifier: MIT
 * paragraphs.c - see paragraphs.h. */
#include "services/engine/slots/paragraphs.h"

static bool is_blank(struct str line)
{
    return str_trim(line).n == 0;
}

static bool is_fence(struct str line)
{
    return str_has_prefix(str_trim(line), STR("```"));
}

static void put(struct buf *b, const char *from, const char *to, size_t *n)
{
    while (to > from && (to[-1] == '\n' || to[-1] == '\r'))
        to--;
    if (to == from)
        return;
    buf_put(b, *n > 0 ? STR(",") : STR(""));
    buf_put_json(b, (struct str){from, (size_t)(to - from)});
    ++*n;
}

void paragraphs_put_json(struct buf *b, struct str text)
{
    struct str whole = str_trim(text), rest = whole;
    const char *from = whole.at, *end = whole.at + whole.n;
    bool is_code = false;
    size_t n = 0;
    buf_put_char(b, '[');
    while (rest.at != NULL && rest.n > 0) {
        struct str line = str_cut(&rest, '\n');
        const char *next = rest.at == NULL ? end : rest.at;
        if (is_fence(line))
            is_code = !is_code;
        if (is_code || !is_blank(line))
            continue;
        put(b, from, line.at, &n);
        from = next;
    }
    put(b, from, end, &n);
    if (n == 0)
        buf_put_json(b, text);
    buf_put_char(b, ']');
}
