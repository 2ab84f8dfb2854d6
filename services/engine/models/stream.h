/* SPDX-License-Identifier: MIT
 *
 * stream: two filters for a model's text, which arrives in pieces cut anywhere. They separate
 * <think>...</think> from the answer, and remove citation marks that name no passage. Their output
 * does not depend on where the pieces were cut. Pure, single thread.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_STREAM_H
#define PARLEY_SERVICES_ENGINE_MODELS_STREAM_H

#include "shared/text/marks.h"

enum think_where { THINK_START, THINK_INSIDE, THINK_BEHIND, THINK_OVER };

/* Zeroed at the start. Only a <think> that begins the text counts. */
struct think_split {
    enum think_where where;
    char held[16]; /* held back: may become a tag */
    size_t held_n;
};
void think_feed(struct think_split *split, struct str text, struct buf *think, struct buf *answer);
/* Puts what was held back. */
void think_finish(struct think_split *split, struct buf *think, struct buf *answer);

enum { CITE_HELD_MAX = MARKS_MAX_BYTES + 2 /* a space, and what does not fit */, CITE_MAX = 64 };

/* Zeroed at the start except for `source_n`. Without sources, all marks pass. */
struct cite_filter {
    size_t source_n;
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
