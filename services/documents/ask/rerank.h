/* SPDX-License-Identifier: MIT
 *
 * rerank: passages that a search found, put into order by an engine. Where none is there, or it
 * takes too long, or answers rubbish, they stay as they were. Belongs to who started it; on the
 * loop's thread.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_RERANK_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_RERANK_H

#include "services/documents/search/retrieve.h"
#include "shared/ask/asker.h"

struct rerank;

/* Exactly once, unless freed before; never before rerank_start returns. order[0] is the best
 * passage, counted from 0; it lives as long as the rerank. */
typedef void rerank_cb(void *context, const unsigned *order, bool is_used);

/* `asker`, `question` and `hits` are borrowed during the call only; 1 <= n <= TOP_K_MAX. */
struct rerank *rerank_start(const struct asker *asker, struct str question,
                            const struct retrieve_hit *hits, unsigned n, uint64_t deadline_ms,
                            rerank_cb *on_done, void *context) must_check;
/* Ends it without a callback if it is under way. Accepts NULL. */
void rerank_free(struct rerank *rerank);

#endif
