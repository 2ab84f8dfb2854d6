/* SPDX-License-Identifier: MIT
 * list_marks.c - see list_marks.h. Numbers have three digits at most: "2021. " at the start of a
 * line is a year. Letters are small ones: "A. Smith" is a name. */
#include "shared/text/list_marks.h"

enum { DIGITS_MAX = 3, ROMAN_MAX = 4 };

static size_t count_of(struct str s, const char *chars, size_t most)
{
    size_t n = 0;
    while (n < s.n && n < most && s.at[n] != 0 && strchr(chars, s.at[n]) != NULL)
        n++;
    return n;
}

/* The bytes of a number, a letter or a small Roman number. */
static size_t counter_of(struct str s)
{
    size_t n = count_of(s, "0123456789", DIGITS_MAX);
    if (n == 0)
        n = count_of(s, "ivx", ROMAN_MAX);
    return n > 0 ? n : s.n > 0 && *s.at >= 'a' && *s.at <= 'z';
}

size_t list_mark(struct str line)
{
    if (line.n > 1 && count_of(line, "-*+>", 1) > 0 && line.at[1] == ' ')
        return 2;
    if (line.n > 4 && memcmp(line.at, "\xe2\x80\xa2", 3) == 0) /* a bullet */
        return 3;
    size_t n = counter_of(line);
    bool is_mark = n > 0 && line.n > n + 1 && (line.at[n] == '.' || line.at[n] == ')') &&
                   line.at[n + 1] == ' ';
    return is_mark ? n + 2 : 0;
}
