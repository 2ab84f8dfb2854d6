/* SPDX-License-Identifier: MIT
 *
 * refusal: maps a limit, or the end of a question without an answer, to an error and a retry time.
 * Refusals by verbs are in reply.h. On the loop's thread.
 */
#ifndef PARLEY_ASK_REFUSAL_H
#define PARLEY_ASK_REFUSAL_H

#include "shared/http/request/respond.h"
#include "shared/queue/question.h"

struct refusal {
    enum err error;
    unsigned retry_after_s;
    char detail[256];  /* "": the error's own text */
    char members[128]; /* of the error object, "": none */
};

/* `end` is not QUESTION_DONE. */
void refusal_of(const struct question_end *end, struct refusal *ret_refusal);
/* For a limit of `limit` requests per `window_s` that is reached for another `retry_ms`. */
void refusal_of_limit(const struct request *r, uint64_t retry_ms, uint64_t limit, uint64_t window_s,
                      struct refusal *ret_refusal);
/* For a question that is still waiting on a draining node. */
void refusal_of_drain(struct refusal *ret_refusal);
void refusal_respond(struct request *r, const struct refusal *refusal);
/* Puts it as the data of an `error` event. */
void refusal_put_event(struct buf *b, struct request *r, const struct refusal *refusal);

/* The Retry-After for a queue that expects room in `eta_s`: at most five minutes, because that is
 * an estimate. `is_known` false: there is no estimate. */
unsigned refusal_retry_s(bool is_known, uint64_t eta_s);

#endif
