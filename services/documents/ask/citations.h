/* SPDX-License-Identifier: MIT
 *
 * citations: checks an answer's marks against the passages that the model was given. A mark is [2],
 * [1, 3] or [1-3], or another form of shared/text/marks.h. A mark that names no given passage is
 * removed, with the space before it, and so is anything that only looks like a mark, such as [-1]
 * or [1.5]. The others are written as [1][2], with their given numbers or renumbered in order of
 * first use. Code between backticks is left alone. Pure.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_CITATIONS_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_CITATIONS_H

#include "shared/base/buf.h"

enum { CITATIONS_MAX = 64 };

enum citations_numbers {
    CITATIONS_AS_GIVEN, /* for a list of all passages, in the order of their numbers */
    CITATIONS_BY_USE,   /* for a list of the cited passages, in order of first use */
};

struct citations {
    unsigned used[CITATIONS_MAX]; /* given numbers, in order of first use */
    unsigned used_n;
};

/* Puts the checked answer. `given_n` is at most CITATIONS_MAX; given numbers count from 1. */
void citations_check(struct str answer, unsigned given_n, enum citations_numbers numbers,
                     struct buf *out, struct citations *ret_citations);

/* Returns whether an answer says that nothing was found, in the sentence that prompts ask models to
 * use. Such an answer cites nothing. */
bool citations_says_nothing(struct str answer);
#define CITATIONS_NOTHING "I don't know based on the provided documents."

#endif
