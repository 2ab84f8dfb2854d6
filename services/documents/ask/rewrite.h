/* SPDX-License-Identifier: MIT
 *
 * rewrite: has an engine turn a question into a search query. The question itself becomes the query
 * when there is no engine, or it takes too long, or its reply is unusable: a failed rewrite must
 * not fail the search. The caller that starts a rewrite owns it. Runs on the loop's thread.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_REWRITE_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_REWRITE_H

#include "shared/ask/requester.h"

struct rewrite;

/* Runs exactly once, unless the rewrite is freed first; never before rewrite_start returns. `query`
 * lives as long as the rewrite. */
typedef void rewrite_cb(void *context, struct str query, bool is_fallback);

/* Borrows its arguments during the call only; copies `question`. */
struct rewrite *rewrite_start(const struct requester *requester, struct str question,
                              uint64_t deadline_ms, rewrite_cb *on_done, void *context) must_check;
/* Cancels it, without a callback, if it is under way. Accepts NULL. */
void rewrite_free(struct rewrite *rewrite);

#endif
