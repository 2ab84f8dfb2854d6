/* SPDX-License-Identifier: MIT
 *
 * batch: the verbs that one turn of the loop collects, lane by lane in Redis's protocol, until they
 * are sent as one call of the function library (turn.h). It holds bytes, and a slot for who waits
 * for each reply; it knows no connection. Of turn.c and call.c alone; on the loop's thread.
 */
#ifndef PARLEY_REDIS_BATCH_H
#define PARLEY_REDIS_BATCH_H

#include "shared/base/buf.h"
#include "shared/redis/verb.h"

enum { BATCH_CALLS_MAX = 128 };

/* Waits for the reply of one verb: for its call, or for `on_orphan` once that was left, or for
 * nobody. */
struct call_slot {
    struct call *call; /* NULL: detached, left, or never there */
    call_reply_cb *on_reply;
    call_orphan_cb *on_orphan; /* NULL: nobody */
    void *context;             /* of `on_orphan` */
    struct call_slot *next;    /* of its lane */
    const struct verb_info *verb;
    uint64_t begin_us;
};

struct lane {
    struct buf wire;
    unsigned arg_n, call_n;
    struct call_slot *first, **last; /* in the order of their replies */
};

struct batch {
    struct turn *turn;
    struct batch *next;
    struct lane lanes[LANE_NR];
    struct call_slot slots[BATCH_CALLS_MAX]; /* the first `call_n` are in use */
    struct nonce_id nonces[BATCH_CALLS_MAX];
    unsigned nonce_n, call_n;
    struct buf wire; /* the whole call, once batch_write made it */
    /* It was refused, for Redis is full, and is sent again to the function that runs then. */
    bool is_freeing;
    enum err error; /* of one that is to fail, see turn.c */
    struct deadline deadline;
    /* The verb being written; NULL between verbs. */
    struct lane *lane;
    size_t argc_at;
    unsigned nonce_argc; /* 1: a nonce is its first argument */
};

struct batch *batch_create(struct turn *turn) must_check;
/* Accepts NULL. Calls that are still in it are detached. */
void batch_destroy(struct batch *batch);
/* Makes it as good as new; a batch that grew large gives its memory back. */
void batch_clear(struct batch *batch);

/* Begins a verb, which takes `nonce` if it takes one. Its arguments are put into what is returned,
 * before anything else is begun. A batch takes BATCH_CALLS_MAX verbs. `call`: NULL for none; it is
 * under way from here on. `nonce`: NULL or unset for none, else copied and unset. */
struct buf *batch_begin(struct batch *batch, struct call *call, call_reply_cb *on_reply,
                        struct nonce_id *nonce, const struct verb_info *verb);
/* `argc`: how many arguments were put. Aborts past TURN_ARGS_MAX. */
void batch_end(struct batch *batch, unsigned argc);

/* No verb should join it any more: it is as large as one call ought to be. */
bool batch_is_full(const struct batch *batch);

/* Writes `batch->wire`: a call of `function` with the turn's frame (lua/turn/frame.lua). Past 64
 * MiB, of the call or of a lane, the buf is over, and the batch must not be sent. */
void batch_write(struct batch *batch, const char *function, const char *prefix,
                 const struct buf *settings);
/* Puts what is the same in all calls of a node, the frame's first word. */
void batch_put_settings(struct buf *settings, const struct turn_config *config);

#endif
