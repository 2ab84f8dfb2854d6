/* SPDX-License-Identifier: MIT
 *
 * reply: turns a verb's refusal into the answer to its request. A verb refuses with a word on the
 * first line of its reply; all verbs in lua/ share these words, and each maps to one error. On the
 * loop's thread.
 */
#ifndef PARLEY_ASK_REPLY_H
#define PARLEY_ASK_REPLY_H

#include "shared/http/request/respond.h"
#include "shared/queue/lines.h"

/* Answers with the error and returns true if the call failed or `tag` is a refusal; returns false
 * for "ok" and other successes. Reads what it needs from `rest`, the lines after the tag. Routes
 * with their own wording check the tag first. */
bool reply_refuse(struct request *r, enum err error, struct str tag, struct lines *rest);
/* The rest of a limit after the request was counted. limit == 0: no limit. */
struct quota {
    uint64_t limit, left;
    uint64_t reset_ms; /* until one more is left */
};
/* Parses "<limit> <left> <reset ms>", as verbs reply it (lua/auth/limiter.lua); "" is no limit. */
struct quota quota_of(struct str line);
/* Adds X-RateLimit-Limit, -Remaining and -Reset to the response; nothing without a limit. */
void reply_put_quota(struct request *r, const struct quota *quota);
/* Answers 429 with Retry-After and X-RateLimit-* headers: the limit of `limit` requests per
 * `window_s` is reached for another `retry_ms`. */
void reply_refuse_limited(struct request *r, uint64_t retry_ms, uint64_t limit, uint64_t window_s);

#endif
