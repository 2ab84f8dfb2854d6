/* SPDX-License-Identifier: MIT
 * nearest.c - see nearest.h. The distance is that of Damerau and Levenshtein (optimal string
 * alignment): how many characters are missing, too many, wrong, or swapped with the next one. */
#include "shared/base/nearest.h"

#include "shared/base/shown.h"

#include <ctype.h>

enum { SHORT_BYTES = 3, CUT_SHARE = 3 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static char fold(char c)
{
    return c == '-' ? '_' : (char)toupper((unsigned char)c);
}

static unsigned cost_of(struct str a, struct str b, unsigned i, unsigned j)
{
    return fold(a.at[i - 1]) != fold(b.at[j - 1]);
}

static bool is_swapped(struct str a, struct str b, unsigned i, unsigned j)
{
    return i > 1 && j > 1 && fold(a.at[i - 1]) == fold(b.at[j - 2]) &&
           fold(a.at[i - 2]) == fold(b.at[j - 1]);
}

/* Both have at most NEAREST_NAME_MAX bytes. Three rows of the table are enough. */
static unsigned distance(struct str a, struct str b)
{
    unsigned rows[3][NEAREST_NAME_MAX + 1];
    unsigned *former = rows[0], *above = rows[1], *row = rows[2];
    for (unsigned j = 0; j <= b.n; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a.n; i++) {
        unsigned *free_row = former;
        former = above;
        above = row;
        row = free_row;
        row[0] = i;
        for (unsigned j = 1; j <= b.n; j++) {
            row[j] = least(above[j - 1] + cost_of(a, b, i, j), least(above[j], row[j - 1]) + 1);
            if (is_swapped(a, b, i, j))
                row[j] = least(row[j], former[j - 2] + 1);
        }
    }
    return row[b.n];
}

static bool is_within(struct str part, struct str whole, size_t at)
{
    for (size_t i = 0; i < part.n; i++)
        if (fold(part.at[i]) != fold(whole.at[at + i]))
            return false;
    return true;
}

/* A name that was cut short, or to which something was added, is one step away; a part of it two.
 */
static unsigned steps(struct str given, struct str name)
{
    unsigned n = distance(given, name);
    struct str part = given.n < name.n ? given : name, whole = given.n < name.n ? name : given;
    if (part.n < SHORT_BYTES)
        return n;
    if (is_within(part, whole, 0))
        return least(n, 1);
    for (size_t at = 1; part.n == given.n && at + part.n <= whole.n; at++)
        if (is_within(part, whole, at))
            return least(n, 2);
    return n;
}

struct nearest nearest_begin(struct str given)
{
    return (struct nearest){.given = given, .distance = UINT32_MAX};
}

void nearest_try(struct nearest *nearest, struct str name)
{
    if (nearest->given.n > NEAREST_NAME_MAX || name.n > NEAREST_NAME_MAX)
        return;
    unsigned n = steps(nearest->given, name);
    if (n >= nearest->distance)
        return;
    nearest->distance = n;
    nearest->best = name;
}

struct str nearest_end(const struct nearest *nearest)
{
    bool is_close = nearest->distance <= nearest->given.n / CUT_SHARE;
    return is_close ? nearest->best : (struct str){NULL, 0};
}

struct str nearest_of(struct str given, const char *choices)
{
    struct nearest nearest = nearest_begin(given);
    struct str rest = str_of(choices);
    while (rest.at != NULL)
        nearest_try(&nearest, str_cut(&rest, '|'));
    return nearest_end(&nearest);
}

struct str nearest_in(struct str given, const char *const *names)
{
    struct nearest nearest = nearest_begin(given);
    for (; *names != NULL; names++)
        nearest_try(&nearest, str_of(*names));
    return nearest_end(&nearest);
}

bool nearest_is_word(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!((text.at[i] | 0x20) >= 'a' && (text.at[i] | 0x20) <= 'z') && text.at[i] != '_' &&
            text.at[i] != '-')
            return false;
    return text.n > 0 && text.n <= NEAREST_NAME_MAX / 2;
}

void buf_put_nearest(struct buf *b, const char *prefix, struct str name)
{
    if (name.at != NULL)
        buf_printf(b, ": did you mean %s%.*s?", prefix, STR_ARG(name));
}

void buf_put_typed(struct buf *b, const char *prefix, struct str name)
{
    bool is_long = name.n > NEAREST_NAME_MAX;
    buf_printf(b, "'%s", prefix);
    buf_put_shown(b, is_long ? (struct str){name.at, NEAREST_NAME_MAX} : name);
    buf_put(b, is_long ? STR("...'") : STR("'"));
}
