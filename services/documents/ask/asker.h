/* SPDX-License-Identifier: MIT
 *
 * asker: what all that waits for engines on behalf of a request shares: who asks, as the queue
 * takes it; hearing that the client has left, or that the node shuts down; and what the client is
 * told when there is no answer. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_ASKER_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_ASKER_H

#include "services/documents/documents.h"
#include "shared/queue/question.h"

/* All in the request's pool. */
struct asker {
    struct queue *queue;
    struct str user, user_name, account, weight, traceparent;
    unsigned max_waiting;
    struct str space; /* what is searched, and who may share a question */
};

/* Somebody who asks over documents of theirs. */
struct asker asker_of_owner(struct request *r, const struct owner *owner);
/* Anybody, over a collection ("c:<name>"). */
struct asker asker_of_public(struct request *r, struct str space);
/* Fills in who asks. */
void asker_put(const struct asker *asker, struct question_settings *settings);

/* Watches over a request that waits for an engine: one at a time per request. */
struct presence {
    struct presence *previous, *next; /* of the service */
    struct deadline soon;
    struct left_listener left;
    struct request *r; /* NULL before presence_start */
    bool is_on;
    /* Once, and not before presence_start returns. `has_left`: the client is gone, or has lost its
     * right; otherwise the node drains. The request has to be answered, or its stream ended, all
     * the same. */
    void (*on_end)(struct presence *presence, bool has_left);
};
void presence_start(struct presence *presence, struct request *r,
                    void (*on_end)(struct presence *presence, bool has_left));
/* Any number of times. */
void presence_stop(struct presence *presence);

/* How a question that ended without an answer is told. */
struct refusal {
    enum err error;
    unsigned retry_after_s;
    char detail[256];  /* "": the error's own text */
    char members[128]; /* of the error object, "": none */
};
/* `is_llm`: in the words of contract section 5: LLM_UNAVAILABLE, and whether it is retryable. */
void refusal_of(const struct question_end *end, bool is_llm, struct refusal *ret_refusal);
/* The same for a node that drains. */
void refusal_of_drain(bool is_llm, struct refusal *ret_refusal);
void refusal_respond(struct request *r, const struct refusal *refusal);
/* Puts it as the data of an `error` event. */
void refusal_put_event(struct request *r, const struct refusal *refusal, struct buf *b);

#endif
