/* SPDX-License-Identifier: MIT
 *
 * broker: the BossBot system: queries into topics, claims to engines, answers back
 * (/openapi.yaml). One per thread (service.h). Handlers are one file per verb; routes.yaml lists
 * them; names.c, params.c and outcome.c hold what several of them share.
 */
#ifndef PARLEY_SERVICES_BROKER_BROKER_H
#define PARLEY_SERVICES_BROKER_BROKER_H

#include "services/broker/socket/engine_owners.h"
#include "services/node/service.h"
#include "shared/ask/on_behalf.h"
#include "shared/ask/reply.h"
#include "shared/op/fair_slots.h"
#include "shared/queue/queue.h"

enum {
    MODEL_MAX_BYTES = 128,
    MODELS_MAX_BYTES = 512,
    MODELS_OF_APIS_MAX_BYTES = 1024, /* with those of the doors */
    QUERY_MAX_BYTES = 256 << 10,
    FRAGMENT_MAX_BYTES = 64 << 10, /* of an answer, to be looked up or recommended on */
    ENGINE_MAX_BYTES = 64,
    WAIT_MAX_S = 120,
    TOKEN_LIFETIME_S = 3600,
    TOKEN_RENEWED_S = 12 * 3600, /* so long after the proof they are renewed */
};

struct broker {
    struct server *server;
    struct queue *queue;
    struct fair_slots *searches;  /* find_topics.c */
    struct engine_owners engines; /* with sockets */
};

static inline struct broker *broker_of(const struct request *r)
{
    return service_state(r, "broker");
}

/* The node shuts down: ends everything that is parked with its normal empty answer. */
void broker_drain(void *state);

/* Searches take turns, those of accounts and then of their users. */
struct fair_slots *searches_turns(void) must_check;

/* --- names.c ---------------------------------------------------------------------------------- */

/* `s` as a name for keys and lines, in the request's pool. */
struct str names_of(struct request *r, struct str s);
/* The name of the user whose topics the request may see: an account of role user sees its own,
 * other roles ("") all topics of their namespace. */
struct str names_viewer(struct request *r);
/* Puts a topic's name as the account knows it: without its own namespace. */
void names_put_topic(struct buf *b, struct request *r, struct str topic);
/* The parameter or member Topic: 1 to 128 bytes, no white space, no control characters. They answer
 * 400 and return false otherwise. *ret_name is the topic's name. */
bool names_topic_param(struct request *r, struct str *ret_name) must_check;
bool names_topic_member(struct request *r, struct str *ret_name) must_check;
/* The parameter if present, otherwise the body member; reads the body if necessary. */
bool names_topic_either(struct request *r, struct str *ret_name) must_check;

/* --- params.c --------------------------------------------------------------------------------- */

/* The member Seq, a whole number from `min`. Answers 400 and returns false otherwise. */
bool params_seq(struct request *r, int64_t min, uint64_t *ret_seq) must_check;

enum wait_for { WAIT_FOR_OUTCOME, WAIT_FOR_CLAIM, WAIT_FOR_LOOKUP, WAIT_FOR_NR };

/* The parameter Wait, 0 to WAIT_MAX_S seconds. The default depends on the route and is shorter for
 * accounts of the deployed dialect. Answers 400 and returns false otherwise. */
bool params_wait(struct request *r, enum wait_for what, uint64_t *ret_s) must_check;

/* The parameter Models as the scripts take it: names joined by ','; "*" when it is absent. With the
 * parameter Apis, each name also as "<api>/<name>" (lua/queue/apis.lua). Answers 400 and returns
 * false otherwise. */
bool params_models(struct request *r, struct str *ret_models) must_check;

/* --- facts.c ---------------------------------------------------------------------------------- */

/* Puts the members FinishReason and Usage as lua/queue/facts.lua has them. Answers 400 and returns
 * false if they are wrong. */
bool facts_put(struct buf *b, struct request *r) must_check;

/* --- deltas.c --------------------------------------------------------------------------------- */

enum { DELTAS_MAX_BYTES = 8 << 20 }; /* of one answer, as lua/queue/pieces.lua keeps them */

/* Puts the texts of the member Deltas, one a line; nothing if it is absent. Answers 400 and returns
 * false if one is no JSON object on one line. *ret_is_more: they are more than text
 * (shared/queue/delta.h). */
bool deltas_put(struct buf *b, struct request *r, bool *ret_is_more) must_check;

/* --- claims.c --------------------------------------------------------------------------------- */

/* 409: text or deltas are missing before the request's Offset. `expected`: what there is. */
void claims_explain_gap(struct request *r, struct str expected);

/* --- outcome.c -------------------------------------------------------------------------------- */

/* Reads the member Replaces of modifiers, which are compact JSON; *ret_seq is 0 without it. Returns
 * false if it is no Seq. */
bool modifiers_replaces(struct str modifiers, uint64_t *ret_seq) must_check;
/* Puts what check-query shows of an outcome, without the braces. `is_detail`: Detail=true. */
void outcome_put(struct buf *b, struct request *r, struct str topic, uint64_t seq,
                 const struct outcome *o, bool is_detail, bool nothing_is_empty_list);
/* Puts FinishReason and Usage, which outcome_put puts with `is_detail`, after another member. */
void outcome_put_facts(struct buf *b, const struct outcome *o);

/* --- claim_reply.c ---------------------------------------------------------------------------- */

/* A claim on its way to an engine: written, and then confirmed or given back. In the owner's
 * memory. */
struct delivery {
    enum work work;
    struct str topic, lease; /* copies in the request's pool; at == NULL: no claim */
    bool is_of_door;         /* its history is left out: a door's request has its own */
    bool is_long;            /* its request is to be read, and ends its Details */
    bool continues;          /* and so is the answer that another engine has begun */
};

enum { CLAIM_REPLY_MAX_BYTES = 32 << 20 }; /* with its history */

struct claim_view {
    bool is_detail;
    bool is_deployed;
};

/* Returns whether the request of a door's query is not in the claim, because it is long. */
bool claim_reply_is_long(const struct claim *claim);
/* Puts the claim as get-new-queries shows it, without the closing brace, and notes it in
 * `delivery`. If more is to be read (is_long, or History=true), claim_reply_fetch_rest does. */
void claim_reply_put(struct buf *b, struct request *r, struct claim *claim,
                     const struct claim_view *view, struct delivery *delivery);
/* Looks for a door's request or, with History=true, for the earlier questions of its topic, ... */
void claim_reply_fetch_rest(struct call_start start, struct request *r, const struct claim *claim,
                            const struct delivery *delivery);
/* ... and puts what came. False if it could not be read, or the client has left meanwhile: the
 * claim has been given back, and the answer must not bring it. */
bool claim_reply_put_rest(struct buf *b, struct request *r, struct delivery *delivery,
                          enum err error, struct str reply) must_check;
/* Records the claim that is about to be answered, and has it confirmed soon. */
void delivery_note(struct delivery *delivery, struct request *r, const struct claim *claim);
/* When the request is gone: gives the claim back if its bytes did not reach the client's socket. */
void claim_reply_finish(struct delivery *delivery, struct request *r);

/* --- engine_poll.c ---------------------------------------------------------------------------- */

/* An engine's request that waits for work. Part of the handler's state; zeroed to begin with, its
 * callbacks set, and `poll.engine` where the engine names itself. */
struct engine_poll {
    struct request *r;
    uint64_t wait_s;
    bool is_extra; /* the rest of the request has succeeded: a failure only means no claim */
    struct poll poll;
    struct deadline deadline;
    struct left_listener left;
    struct delivery delivery; /* of the claim that is answered */
    /* Answers with the claim, which it notes in `delivery`; `claim` is valid inside the call only.
     */
    void (*on_claim)(struct engine_poll *p, struct claim *claim);
    void (*answer_empty)(struct request *r);
    /* For engine_poll_join: poll.on_joined. */
    bool (*on_joined)(struct engine_poll *p, enum err error, struct lines *reply);
};

/* Waits for work for these models (queue_poll_start) up to the given time. Answers the request
 * through one of the callbacks or with an error, never before this returns. */
void engine_poll_start(struct engine_poll *p, struct request *r, struct str models,
                       uint64_t wait_s);
/* As queue_poll_join; the wait begins once on_joined has returned true. */
bool engine_poll_join(struct engine_poll *p, struct request *r, struct str models, uint64_t wait_s,
                      struct poll_join *ret_join) must_check;
/* The request is gone: its claim is confirmed, or given back. From the handler's on_gone. */
void engine_poll_fini(struct engine_poll *p);

#define EMPTY_CLAIM "\"Topic\":null,\"Queries\":null"

#endif
