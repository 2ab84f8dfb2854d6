/* SPDX-License-Identifier: MIT
 *
 * rewrite: a question turned into a query for a search, by an engine. Where none is there, or it
 * takes too long, or answers rubbish, the question itself is the query: a search must not fail for
 * it. Belongs to who started it; on the loop's thread.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_REWRITE_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_REWRITE_H

#include "shared/ask/asker.h"

struct rewrite;

/* Exactly once, unless freed before; never before rewrite_start returns. `query` lives as long as
 * the rewrite. */
typedef void rewrite_cb(void *context, struct str query, bool is_fallback);

/* All borrowed during the call only; `question` is copied. */
struct rewrite *rewrite_start(const struct asker *asker, struct str question, uint64_t deadline_ms,
                              rewrite_cb *on_done, void *context) must_check;
/* Ends it without a callback if it is under way. Accepts NULL. */
void rewrite_free(struct rewrite *rewrite);

#endif
