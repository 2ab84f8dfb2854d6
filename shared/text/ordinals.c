/* SPDX-License-Identifier: MIT
 * ordinals.c - see ordinals.h. */
#include "shared/text/ordinals.h"

#include "shared/text/chars.h"

enum { NEXT_MAX_BYTES = 200 };

/* German writes ordinals so: after these words, or before a month. */
static bool is_before_ordinal(struct str word)
{
    static const char *const words[] = {"am",  "ab",  "bis", "das",  "dem",   "den",   "der",
                                        "des", "die", "im",  "jede", "jeden", "jeder", "seit",
                                        "und", "vom", "zum", "zur",  NULL};
    for (const char *const *w = words; *w != NULL; w++)
        if (str_eq_nocase(word, str_of(*w)))
            return true;
    return false;
}

static bool is_month(struct str word)
{
    static const char *const months[] = {
        "Januar", "J\xc3\xa4nner", "Februar",   "M\xc3\xa4rz", "April",    "Mai",      "Juni",
        "Juli",   "August",        "September", "Oktober",     "November", "Dezember", NULL};
    for (const char *const *m = months; *m != NULL; m++)
        if (str_eq(word, str_of(*m)))
            return true;
    return false;
}

/* Returns whether the number of n bytes before a text's last stop is an ordinal: at the front of a
 * line, or where German has one. */
static bool is_ordinal(struct str text, size_t n, struct str rest)
{
    struct str before = str_trim((struct str){text.at, n}),
               next = {rest.at, text_floor(rest, NEXT_MAX_BYTES)};
    next = str_trim(str_cut(&next, '\n'));
    size_t from = before.n, to = 0;
    while (from > 0 && strchr(" \n", before.at[from - 1]) == NULL)
        from--;
    while (to < next.n && strchr(" .,;:", next.at[to]) == NULL)
        to++;
    return before.n == 0 || is_month((struct str){next.at, to}) ||
           is_before_ordinal((struct str){before.at + from, before.n - from});
}

bool ordinal_ends(struct str text, struct str rest)
{
    size_t n = text.n, digits = 0;
    if (n < 2 || text.at[n - 1] != '.')
        return false;
    for (n--; n > 0 && text.at[n - 1] >= '0' && text.at[n - 1] <= '9'; n--)
        digits++;
    return digits > 0 && digits <= 2 && (n == 0 || text.at[n - 1] == ' ') &&
           is_ordinal(text, n, rest);
}
