/* SPDX-License-Identifier: MIT
 * chars.c - see chars.h. */
#include "shared/text/chars.h"

static bool is_tail(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

size_t text_char_any(struct str s, uint32_t *ret_code)
{
    const unsigned char *p = (const unsigned char *)s.at;
    if (s.n == 0)
        return 0;
    *ret_code = p[0];
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf && s.n >= 2 && is_tail(p[1])) {
        *ret_code = (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
        return 2;
    }
    if ((p[0] & 0xf0) == 0xe0 && s.n >= 3 && is_tail(p[1]) && is_tail(p[2])) {
        *ret_code = (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
        return 3;
    }
    if (p[0] >= 0xf0 && p[0] <= 0xf4 && s.n >= 4 && is_tail(p[1]) && is_tail(p[2]) &&
        is_tail(p[3])) {
        *ret_code =
            (p[0] & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
        return 4;
    }
    *ret_code = 0xfffd;
    return 1;
}

size_t text_length(struct str s)
{
    uint32_t code;
    size_t n = 0;
    for (size_t step; (step = text_char(s, &code)) != 0; n++) {
        s.at += step;
        s.n -= step;
    }
    return n;
}

size_t text_floor(struct str s, size_t n)
{
    if (n >= s.n)
        return s.n;
    while (n > 0 && is_tail((unsigned char)s.at[n]))
        n--;
    return n;
}

size_t text_put_char(char *at, uint32_t c)
{
    if (c < 0x80) {
        at[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        at[0] = (char)(0xc0 | c >> 6);
        at[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        at[0] = (char)(0xe0 | c >> 12);
        at[1] = (char)(0x80 | (c >> 6 & 0x3f));
        at[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    at[0] = (char)(0xf0 | c >> 18);
    at[1] = (char)(0x80 | (c >> 12 & 0x3f));
    at[2] = (char)(0x80 | (c >> 6 & 0x3f));
    at[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}
