/* SPDX-License-Identifier: MIT
 * likeness.c - see likeness.h.
 *
 * Endings: two words are forms of one when what they begin with in common makes up two thirds of
 * the longer one. Compounds: the shorter word begins or ends the longer one, there with another
 * ending, too ("spielen" in "Ballspiele"). Misspelt: one edit (a letter put in, left out, replaced,
 * or two swapped), two in long words. */
#include "shared/text/likeness.h"

#include <string.h>

enum {
    STEM_MIN = 4,
    PART_MIN = 5,
    PART_ENDING_MAX = 2,
    TYPO_MIN = 5,
    TWO_TYPOS_MIN = 8,
    ENDING_MAX = 3,
    SHORT_ENDING_MAX = 2, /* of a word of STEM_MIN letters: "alle" is not in "allergy" */
};

static unsigned common_start(const struct term_word *a, const struct term_word *b)
{
    unsigned n = 0;
    while (n < a->n && n < b->n && a->chars[n] == b->chars[n])
        n++;
    return n;
}

static bool ends_alike(const struct term_word *longer, const struct term_word *shorter)
{
    return memcmp(longer->chars + longer->n - shorter->n, shorter->chars,
                  shorter->n * sizeof *shorter->chars) == 0;
}

/* Returns whether the longer word ends in the shorter one, each with an ending of its own. */
static bool ends_in_form(const struct term_word *longer, const struct term_word *shorter)
{
    for (unsigned cut = 1; shorter->n >= PART_MIN + PART_ENDING_MAX && cut <= PART_ENDING_MAX;
         cut++)
        for (unsigned more = 0; more <= PART_ENDING_MAX; more++) {
            unsigned n = shorter->n - cut, from = longer->n - more - n;
            if (longer->n >= n + more + ENDING_MAX &&
                memcmp(longer->chars + from, shorter->chars, n * sizeof *shorter->chars) == 0)
                return true;
        }
    return false;
}

/* Edits between two words (optimal string alignment, Damerau 1964), as far as `most`; more than
 * that gives most + 1. */
static unsigned edits_between(const struct term_word *a, const struct term_word *b, unsigned most)
{
    unsigned rows[3][TERM_MAX_CHARS + 1];
    for (unsigned k = 0; k <= b->n; k++)
        rows[0][k] = k;
    for (unsigned i = 1; i <= a->n; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        unsigned least = row[0] = i;
        for (unsigned k = 1; k <= b->n; k++) {
            unsigned edits = above[k - 1] + (a->chars[i - 1] != b->chars[k - 1]);
            if (above[k] + 1 < edits)
                edits = above[k] + 1;
            if (row[k - 1] + 1 < edits)
                edits = row[k - 1] + 1;
            if (i > 1 && k > 1 && a->chars[i - 1] == b->chars[k - 2] &&
                a->chars[i - 2] == b->chars[k - 1] && two_above[k - 2] + 1 < edits)
                edits = two_above[k - 2] + 1;
            row[k] = edits;
            least = edits < least ? edits : least;
        }
        if (least > most)
            return most + 1;
    }
    return rows[a->n % 3][b->n];
}

bool likeness_is_misspelt(const struct term_word *a, const struct term_word *b)
{
    unsigned shorter = a->n < b->n ? a->n : b->n, longer = a->n < b->n ? b->n : a->n;
    unsigned most = shorter >= TWO_TYPOS_MIN ? 2 : 1;
    if (shorter < TYPO_MIN - 1 || longer < TYPO_MIN || longer - shorter > most ||
        (a->chars[0] != b->chars[0] && a->chars[a->n - 1] != b->chars[b->n - 1]))
        return false;
    return edits_between(a, b, most) <= most;
}

float likeness_of(const struct term_word *a, const struct term_word *b)
{
    if (a->hash == b->hash)
        return 1;
    if (a->key == b->key)
        return LIKENESS_BARE;
    if (a->is_code || b->is_code)
        return 0;
    unsigned start = common_start(a, b);
    const struct term_word *longer = a->n < b->n ? b : a, *shorter = a->n < b->n ? a : b;
    unsigned ending_max = shorter->n > STEM_MIN ? ENDING_MAX : SHORT_ENDING_MAX;
    if (start >= STEM_MIN && ((start == shorter->n && longer->n - start <= ending_max) ||
                              (start >= PART_MIN && 3 * start >= 2 * longer->n)))
        return LIKENESS_FORM;
    if (shorter->n >= PART_MIN && (start == shorter->n || (longer->n >= shorter->n + ENDING_MAX &&
                                                           ends_alike(longer, shorter))))
        return LIKENESS_PART;
    if (longer->n < TERM_MAX_CHARS && ends_in_form(longer, shorter))
        return LIKENESS_PART;
    return 0;
}
