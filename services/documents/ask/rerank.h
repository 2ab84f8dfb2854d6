/* SPDX-License-Identifier: MIT
 *
 * rerank: has an engine sort the passages that a search found. They keep their order when there is
 * no engine, or it takes too long, or its reply is unusable. The caller that starts a rerank owns
 * it. Runs on the loop's thread.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_RERANK_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_RERANK_H

#include "services/documents/search/retrieve.h"
#include "shared/ask/requester.h"

struct rerank;

/* Runs exactly once, unless the rerank is freed first; never before rerank_start returns. order[0]
 * is the index of the best passage, from 0. `order` lives as long as the rerank. `is_used`: the
 * engine's order was used. */
typedef void rerank_cb(void *context, const unsigned *order, bool is_used);

/* Borrows `requester`, `question` and `hits` during the call only; 1 <= n <= TOP_K_MAX. */
struct rerank *rerank_start(const struct requester *requester, struct str question,
                            const struct retrieve_hit *hits, unsigned n, uint64_t deadline_ms,
                            rerank_cb *on_done, void *context) must_check;
/* Cancels it, without a callback, if it is under way. Accepts NULL. */
void rerank_free(struct rerank *rerank);

#endif
