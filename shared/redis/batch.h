/* SPDX-License-Identifier: MIT
 *
 * batch: the verbs that one turn of the loop collects, by lane and in Redis's protocol, until they
 * are sent as one call of the function library (turn.h). It holds the bytes and a slot for each
 * awaited reply; it knows no connection. Used only by turn*.c, on the loop's thread.
 */
#ifndef PARLEY_REDIS_BATCH_H
#define PARLEY_REDIS_BATCH_H

#include "shared/base/buf.h"
#include "shared/op/deadline.h"
#include "shared/redis/call_internal.h"
#include "shared/redis/verb_info.h"

/* Requests that only use their nonces have no verb in the call, and come before those that have
 * (lua/turn/frame.lua): `nonce` and `nonce_of_add`, unless their nonces are only recorded. */
enum { ALONE_NONCES = LANE_NR, ALONE_MARKED, BATCH_LANE_N };
enum { BATCH_CALLS_MAX = 128, BATCH_SLOW_MAX = 4 };

struct lane {
    struct buf wire; /* verbs; of ALONE_NONCES nonces, of ALONE_MARKED members */
    unsigned arg_n;
    unsigned call_n;                 /* that wait for their replies */
    struct call_slot *first, **last; /* those, in the order of their replies */
};

struct batch {
    struct turn *turn;
    struct batch *next;
    struct lane lanes[BATCH_LANE_N];
    struct buf marked_nonces;                /* of ALONE_MARKED */
    struct buf rest;                         /* see batch_continue; empty in the first call */
    struct call_slot slots[BATCH_CALLS_MAX]; /* the first `call_n` are in use */
    struct nonce_id nonces[BATCH_CALLS_MAX];
    unsigned nonce_n, call_n;
    unsigned query_n;               /* of the calls: turn.c counts those that store a query */
    struct buf wire;                /* the complete call, after batch_write */
    bool is_rest;                   /* its first verbs have run */
    bool is_slow;                   /* all its verbs are in LANE_SLOW, and ... */
    uint64_t owner;                 /* ... of this owner (struct call_start), in */
    uint64_t round;                 /* this round of owners, ... */
    uint64_t users[BATCH_SLOW_MAX]; /* ... one of each user */
    /* Redis was full: it is resent to the function that still runs then. */
    bool is_freeing;
    enum err error;   /* of a batch that is to fail, see turn.c */
    uint64_t number;  /* of the turn's batches, in the order in which they were collected */
    uint64_t held_ms; /* when it was held first, see turn_hold.c; 0: never */
    uint64_t sent_us;
    struct deadline deadline;
    /* The verb being written; NULL between verbs. */
    struct lane *lane;
    size_t argc_at;
    unsigned nonce_argc; /* 1: a nonce is its first argument */
    bool is_alone;
};

struct batch *batch_create(struct turn *turn) must_check;
/* Accepts NULL. Remaining calls are detached. */
void batch_destroy(struct batch *batch);
/* Resets it; a batch that grew large frees its memory. */
void batch_clear(struct batch *batch);

/* Begins a verb, with the start's nonce if the verb takes one. Put its arguments into the returned
 * buf before you begin anything else. A batch takes at most BATCH_CALLS_MAX verbs. The start's
 * call: NULL for none; it is in progress from now on. Its nonce: NULL or unset for none, otherwise
 * copied and unset. */
struct buf *batch_begin(struct batch *batch, struct call_start start, const struct verb_info *verb);
/* `argc`: number of arguments. Aborts past TURN_ARGS_MAX. */
void batch_end(struct batch *batch, unsigned argc);

/* Lets those who read take turns: the first reader of each owner and user comes first, then the
 * second of each. What one of them reads may fill many calls (batch_continue), and another one's
 * reply does not wait for them. Before the first batch_write. */
void batch_take_turns(struct batch *batch);

/* Only the first verbs have run: `rest` is what Redis returned instead of the replies of the others
 * (lua/turn/frame.lua). The next batch_write is of these, with the words of all of them, and
 * without the nonces that have no verb: those have been answered. */
void batch_continue(struct batch *batch, struct str rest);
/* Calls that wait for their replies. */
unsigned batch_waiting_n(const struct batch *batch);
/* Returns whether the reply begins with what became of nonces without a verb. */
bool batch_has_alone(const struct batch *batch);
/* Returns whether it has reached the intended size of a call, so no further verb should be added.
 */
bool batch_is_full(const struct batch *batch);

/* Batches in order. Of slow ones first those of the earliest round. */
struct batch_queue {
    struct batch *first, *last; /* last: not set while first is NULL */
};
void batch_queue_put(struct batch_queue *queue, struct batch *batch);
/* Puts one before the first of a later round. */
void batch_queue_put_round(struct batch_queue *queue, struct batch *batch);
/* The first one; there must be one. */
struct batch *batch_queue_take(struct batch_queue *queue);

/* Writes `batch->wire`: a call of `function` with the turn's frame (lua/turn/frame.lua). If the
 * call or a lane exceeds 64 MiB, the buf overflows and the batch must not be sent. */
void batch_write(struct batch *batch, const char *function, const char *prefix,
                 const struct buf *settings);

#endif
