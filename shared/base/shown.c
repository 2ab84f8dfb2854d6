/* SPDX-License-Identifier: MIT
 * shown.c - see shown.h. The ranges are the control characters, and the format characters (general
 * category Cf) and separators of lines of Unicode 15 that scripts in common use can do without. */
#include "shared/base/shown.h"

/* Length of the well-formed character at the front of `s`; 0: there is none. */
static size_t char_length(struct str s)
{
    for (size_t n = 1; n <= 4 && n <= s.n; n++)
        if (str_is_utf8((struct str){s.at, n}))
            return n;
    return 0;
}

static uint32_t code_of(struct str s)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)*s.at & masks[s.n];
    for (size_t i = 1; i < s.n; i++)
        code = code << 6 | ((unsigned char)s.at[i] & 0x3f);
    return code;
}

static bool is_unseen(uint32_t c)
{
    static const uint32_t ranges[][2] = {{0, 0x1f},        {0x7f, 0x9f},       {0xad, 0xad},
                                         {0x61c, 0x61c},   {0x180e, 0x180e},   {0x200b, 0x200f},
                                         {0x2028, 0x202e}, {0x2060, 0x206f},   {0xfeff, 0xfeff},
                                         {0xfff9, 0xfffb}, {0x1bca0, 0x1bca3}, {0xe0000, 0xe007f}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}

static bool is_of_text(uint32_t c)
{
    return c == '\n' || c == '\t' || c == 0x200c || c == 0x200d;
}

static void put(struct buf *b, struct str s, bool is_text)
{
    while (s.n > 0) {
        size_t n = char_length(s), step = n == 0 ? 1 : n;
        if (n == 0)
            buf_lit(b, "\xef\xbf\xbd");
        else if (!is_unseen(code_of((struct str){s.at, n})) ||
                 (is_text && is_of_text(code_of((struct str){s.at, n}))))
            buf_put(b, (struct str){s.at, n});
        s = (struct str){s.at + step, s.n - step};
    }
}

void buf_put_shown(struct buf *b, struct str s)
{
    put(b, s, false);
}

void buf_put_shown_text(struct buf *b, struct str s)
{
    put(b, s, true);
}

void buf_put_quoted(struct buf *b, struct str s)
{
    size_t n = 0, step;
    buf_put_char(b, '\'');
    for (; n < s.n; n += step) {
        struct str rest = {s.at + n, s.n - n};
        step = char_length(rest) == 0 ? 1 : char_length(rest);
        if (n + step > QUOTED_MAX_BYTES)
            break;
        if (*rest.at == '<' || *rest.at == '>')
            buf_put(b, *rest.at == '<' ? STR("\xe2\x80\xb9") : STR("\xe2\x80\xba"));
        else
            buf_put_shown(b, (struct str){rest.at, step});
    }
    buf_put(b, n < s.n ? STR("...'") : STR("'"));
}
