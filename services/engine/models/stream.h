/* SPDX-License-Identifier: MIT
 *
 * stream: a filter for a model's text, which arrives in pieces cut anywhere. It separates
 * <think>...</think> from the answer. Its output does not depend on where the pieces were cut.
 * Pure, single thread.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_STREAM_H
#define PARLEY_SERVICES_ENGINE_MODELS_STREAM_H

#include "shared/base/buf.h"

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

#endif
