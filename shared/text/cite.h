/* SPDX-License-Identifier: MIT
 *
 * cite: a filter for an answer that arrives in pieces cut anywhere: it removes citation marks that
 * name no passage. Its output does not depend on where the pieces were cut. Pure, single thread.
 */
#ifndef PARLEY_TEXT_CITE_H
#define PARLEY_TEXT_CITE_H

#include "shared/text/marks.h"

enum { CITE_HELD_MAX = MARKS_MAX_BYTES + 2 /* a space, and what does not fit */, CITE_MAX = 64 };

/* Zeroed at the start except for `source_n` and `on_mark`. Without sources, all marks pass. */
struct cite_filter {
    size_t source_n;
    /* The mark of that number was put: it begins at byte `at` of `out`. NULL: nobody is notified,
     * and not of marks that pass without sources. */
    void (*on_mark)(struct cite_filter *filter, unsigned number, const struct buf *out, size_t at);
    bool is_used[CITE_MAX + 1]; /* by number */
    char held[CITE_HELD_MAX];
    size_t held_n;
    size_t ticks, code; /* backticks in a row so far; those that opened the current code, 0: none */
};
/* Marks are those of shared/text/marks.h, put as [1][3]. Text that only looks like one ([-1],
 * [1.5]) is removed too; code between backticks is left alone. */
void cite_feed(struct cite_filter *filter, struct str text, struct buf *out);
void cite_finish(struct cite_filter *filter, struct buf *out);

#endif
