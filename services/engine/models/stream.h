/* SPDX-License-Identifier: MIT
 *
 * stream: the three filters that a model's output passes while it arrives in pieces cut anywhere:
 * server-sent events into their data, <think>...</think> away from the answer, and citation marks
 * that name no passage out of it. What they put out does not depend on where the pieces were cut.
 * Pure, single thread.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_STREAM_H
#define PARLEY_SERVICES_ENGINE_MODELS_STREAM_H

#include "shared/base/buf.h"

enum { SSE_EVENT_MAX_BYTES = 1 << 20 };

/* One event's data, its lines joined by newlines. False ends the feeding. */
typedef bool (*sse_callback)(void *context, struct str data);

struct sse {
    struct buf line, data;
    bool has_data, is_after_cr;
};

void sse_init(struct sse *sse);
void sse_fini(struct sse *sse);
/* False when the callback ended it, or an event is past its maximum. */
bool sse_feed(struct sse *sse, struct str bytes, sse_callback callback, void *context) must_check;

enum think_where { THINK_START, THINK_INSIDE, THINK_BEHIND, THINK_OVER };

/* Zeroed at the start. Only a <think> that begins the text counts. */
struct think_split {
    enum think_where where;
    char held[16]; /* what may become a tag */
    size_t held_n;
};
void think_feed(struct think_split *split, struct str text, struct buf *think, struct buf *answer);
/* Puts what was held back. */
void think_finish(struct think_split *split, struct buf *think, struct buf *answer);

enum { CITE_HELD_MAX = 40, CITE_MAX = 64 };

/* Zeroed at the start except for `source_n`. With no sources everything passes. */
struct cite_filter {
    size_t source_n;
    bool is_used[CITE_MAX + 1]; /* by number */
    char held[CITE_HELD_MAX];
    size_t held_n;
    size_t ticks, code; /* backticks in a row now; of the code that we are in, 0: none */
};
/* Marks are [3], [1, 3] and [1-3]; what only looks like one ([-1], [1.5]) is taken out too; code
 * between backticks is left alone. */
void cite_feed(struct cite_filter *filter, struct str text, struct buf *out);
void cite_finish(struct cite_filter *filter, struct buf *out);

#endif
