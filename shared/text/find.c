/* SPDX-License-Identifier: MIT
 * find.c - see find.h. Whether a byte is escaped is part of what is compared, so a match that
 * begins within an escape differs in its first byte. */
#include "shared/text/find.h"

#include <stdlib.h>

enum { ESCAPED = 0x100 };

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c - 'A' + 'a') : c;
}

static uint16_t symbol_of(unsigned char c, bool *is_escaped)
{
    uint16_t symbol = (uint16_t)(lower(c) | (*is_escaped ? ESCAPED : 0));
    *is_escaped = !*is_escaped && c == '\\';
    return symbol;
}

/* How much is matched once `symbol` follows what was. */
static size_t next(const struct find *find, size_t matched, uint16_t symbol)
{
    /* Less than find->n: find_read() ends with the whole text. */
    /* cppcheck-suppress arrayIndexOutOfBoundsCond */
    while (matched > 0 && find->symbols[matched] != symbol)
        matched = find->fallback[matched - 1];
    return matched + (find->symbols[matched] == symbol);
}

void find_init(struct find *find, struct str text)
{
    bool is_escaped = false;
    if (text.n < 1 || text.n > FIND_MAX_BYTES)
        abort();
    find->n = text.n;
    for (size_t i = 0; i < text.n; i++)
        find->symbols[i] = symbol_of((unsigned char)text.at[i], &is_escaped);
    find->fallback[0] = 0;
    for (size_t i = 1; i < text.n; i++)
        find->fallback[i] = (uint16_t)next(find, find->fallback[i - 1], find->symbols[i]);
    for (unsigned c = 0; c < 256; c++)
        find->may_begin[c] = c == '\\' || lower((unsigned char)c) == find->symbols[0];
}

bool find_read(const struct find *find, struct find_place *place, struct str part)
{
    size_t matched = place->matched;
    bool is_escaped = place->is_escaped;
    for (size_t i = 0; i < part.n; i++) {
        unsigned char c = (unsigned char)part.at[i];
        if (matched == 0 && !is_escaped && !find->may_begin[c])
            continue;
        matched = next(find, matched, symbol_of(c, &is_escaped));
        if (matched == find->n)
            return true;
    }
    *place = (struct find_place){matched, is_escaped};
    return false;
}
