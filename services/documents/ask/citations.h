/* SPDX-License-Identifier: MIT
 *
 * citations: the marks of an answer, checked against the passages that its model was given. A mark
 * is [2], [1, 3], [1;3] or [1-3], in ASCII or full-width digits. What names no given passage is
 * taken out, with the space before it, and so is what only looks like a mark, such as [-1] or
 * [1.5]; the rest is written as [1][2] and renumbered in the order of first use. Code between
 * backticks is left alone. Pure.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_CITATIONS_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_CITATIONS_H

#include "shared/base/buf.h"

enum { CITATIONS_MAX = 64 };

struct citations {
    unsigned used[CITATIONS_MAX]; /* used[0] is the given number of what is now [1] */
    unsigned used_n;
};

/* Puts the checked answer. `given_n` is at most CITATIONS_MAX; given numbers count from 1. */
void citations_check(struct str answer, unsigned given_n, struct buf *out,
                     struct citations *ret_citations);

/* Says an answer that nothing was found, as the models are told to? Such an answer cites nothing.
 */
bool citations_says_nothing(struct str answer);
#define CITATIONS_NOTHING "I don't know based on the provided documents."

#endif
