/* SPDX-License-Identifier: MIT
 *
 * reply: what the reply of a verb says against the request that began it. A verb refuses with a
 * word on the first line of its reply; the words are the same for all verbs of lua/, and each means
 * one error. On the loop's thread.
 */
#ifndef PARLEY_ASK_REPLY_H
#define PARLEY_ASK_REPLY_H

#include "shared/http/respond.h"
#include "shared/queue/lines.h"

/* Answers what failed, or what `tag` refuses, and returns true; false for "ok" and all words that
 * are a success. Takes what it needs off `rest`, the lines behind the tag. What a route words in
 * its own way it looks at before. */
bool reply_refuse(struct request *r, enum err error, struct str tag, struct lines *rest);
/* Answers 429 with Retry-After and RateLimit-* headers: `limit` requests within `window_s` are used
 * up for `retry_ms`. */
void reply_refuse_limited(struct request *r, uint64_t retry_ms, uint64_t limit, uint64_t window_s);

#endif
