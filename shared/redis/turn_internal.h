/* SPDX-License-Identifier: MIT
 *
 * turn_internal: shared by turn.c (batches), turn_answer.c (their replies), turn_library.c (the
 * library and Redis's troubles), turn_hold.c, and by fence.c and verb.c, which use them. On the
 * loop's thread.
 */
#ifndef PARLEY_REDIS_TURN_INTERNAL_H
#define PARLEY_REDIS_TURN_INTERNAL_H

#include "shared/redis/batch.h"
#include "shared/redis/durability.h"
#include "shared/redis/library.h"
#include "shared/redis/turn.h"

/* How long Redis may take for a batch or the library after receiving it. */
enum { TURN_ANSWER_MAX_MS = 5000, TURN_REASON_BYTES = 240 };
/* A text that comes in parts, at most: far more than a verb returns (lua/turn/bounds.lua). */
enum { TURN_JOINED_MAX_BYTES = 64 << 20 };

/* The holder of replies that acknowledge something (fence.h), as its turn sees it. */
struct turn_fence {
    /* Takes over the slot of a call that awaits its reply, and copies both: from now on the call
     * points to the copy. It ends by turn_end_call, in a later turn of the loop. */
    void (*hold)(struct turn_fence *fence, struct call_slot *slot, struct str reply);
    /* Runs at the end of each turn of the loop. */
    void (*flush)(struct turn_fence *fence);
    /* The turn stops: ends all calls that it holds with ERR_REDIS_LOST, and frees itself. */
    void (*destroy)(struct turn_fence *fence);
    /* Returns whether acknowledgements come, and whether they come at once. */
    bool (*is_confirmed)(const struct turn_fence *fence);
    bool (*is_prompt)(const struct turn_fence *fence);
};

struct turn {
    struct loop *loop;
    struct turn_config config;
    const struct redis_address *address;
    struct redis_conn *conn;
    struct batch *collecting, *free, *sent; /* sent: in flight, newest first */
    struct batch_queue full; /* collected, until Redis has taken most of what is in flight */
    struct batch_queue slow; /* slow verbs, sent one batch at a time */
    struct batch_queue rest; /* first verbs have run; sent one at a time, too */
    struct batch *writing;   /* has the verb that is being written */
    struct batch *doomed;    /* could not be sent: fails at the end of the turn */
    uint64_t batch_n;        /* the number of the last one */
    unsigned in_flight_n;
    size_t in_flight_bytes;
    unsigned query_n; /* begun, without a reply yet */
    bool is_slow_in_flight, is_rest_in_flight;
    uint64_t slow_round; /* of the slow batch that was sent last */
    size_t pending_n;
    uint64_t took_us;  /* of the call that is being answered */
    uint64_t moved_ms; /* latest time by which the data sent so far should have reached Redis */
    bool is_up, is_loading;
    struct batch *parked;      /* found the library missing: sent again once it is loaded */
    struct deadline load_late; /* while is_loading */
    struct buf settings;       /* of the frame; empty until the first call is sent */
    struct buf library;
    struct buf joined; /* a text that came in parts, see parts.h */
    struct redis_library_names functions;
    enum redis_trouble trouble; /* of the last reply; while is_up */
    bool is_trouble_said;       /* it was logged, so log its end too */
    struct log_limit limit;
    struct durability durability;
    struct turn_fence *fence; /* NULL: replies are not held */
    /* --- turn_hold.c: while the shard moves --- */
    bool is_paused, is_probing;
    bool is_replaced; /* the connection was made again during the pause */
    struct batch *held;
    size_t held_bytes;
    struct deadline pause;
    unsigned pause_ms;
    uint64_t down_since_ms;
    char leave_reason[TURN_REASON_BYTES]; /* why the connection is to be made again, or empty */
    char hold_error[TURN_REASON_BYTES];   /* the last one */
    struct log_limit pause_limit;
};

/* --- turn_answer.c --- */

/* Passes the reply to the slot's owner, whose callback runs. turn_took_us is set. */
void turn_end_call(struct turn *turn, struct call_slot *slot, enum err error, struct str reply);
/* The same, and counts the verb. With a fence, the owner of a durable one is answered later. */
void turn_answer_call(struct turn *turn, struct call_slot *slot, uint64_t now_us, enum err error,
                      struct str reply);
/* Answers the calls of the batch, and runs on_event for each event in `reply`, an array. Returns
 * whether all are answered: otherwise the batch is to be written and sent again, for the rest. It
 * stays the caller's. */
bool turn_answer_batch(struct turn *turn, struct batch *batch,
                       const struct redisReply *reply) must_check;

/* --- turn_hold.c --- */

void turn_hold_init(struct turn *turn);
/* Ends what is held with ERR_REDIS_LOST. */
void turn_hold_fini(struct turn *turn);
/* Takes a refused batch if the refusal is temporary: then returns true and owns the batch. */
bool turn_hold_refused(struct turn *turn, struct batch *batch, const char *error) must_check;
/* Takes a batch that was written but not sent, during a pause. Returns false if it holds enough. */
bool turn_hold_new(struct turn *turn, struct batch *batch) must_check;
/* Takes a batch whose first verbs have run. */
void turn_hold_rest(struct turn *turn, struct batch *batch);
/* Notes that a batch has run. */
void turn_hold_answered(struct turn *turn);
/* Another server has the shard now: the connection is made again when nothing is in flight. */
void turn_leave(struct turn *turn, const char *reason);
/* The connection was lost, or verbs run again: true during a pause, so owners are not notified. */
bool turn_hold_lost(struct turn *turn) must_check;
bool turn_hold_up(struct turn *turn) must_check;
void turn_fail_held(struct turn *turn, enum err error);

/* --- turn_library.c --- */

/* Loads the library unless it is already loading. Then sends parked batches and runs on_up if verbs
 * did not run before. On an error the batches fail; without an answer the connection is closed. */
void turn_load_library(struct turn *turn);
/* Logs `text` with Redis's own words, once a minute. */
void turn_say_trouble(struct turn *turn, const char *text, const char *error);
/* Stores and logs the trouble that a reply reported. Runs on_up if that ends an outage. */
void turn_set_trouble(struct turn *turn, enum redis_trouble trouble, const char *error);
/* A turn has succeeded: ends the trouble. Waiters check again, as after a lost connection. */
void turn_end_trouble(struct turn *turn);

/* --- turn.c, for verb.c --- */

/* Begins a verb, with its nonce if it takes one. Put its arguments into the returned buf, then call
 * turn_end_verb; do nothing else in between. */
struct buf *turn_begin_verb(struct call_start start, const struct verb_info *verb);
/* `argc`: number of arguments without the nonce; at most TURN_ARGS_MAX. */
void turn_end_verb(struct turn *turn, unsigned argc);

/* --- turn.c --- */

/* Returns the frame's first word, which all calls of a node share (lua/turn/frame.lua). */
const struct buf *turn_settings(struct turn *turn);
/* Sends a batch written by batch_write. If that fails, its calls fail at the end of the turn. */
void turn_send_batch(struct turn *turn, struct batch *batch);
/* Ends all calls of a batch, which is recycled. Their callbacks run. */
void turn_fail_batch(struct turn *turn, struct batch *batch, enum err error);
/* Moves what was collected to what is held. */
void turn_hold_collected(struct turn *turn);
/* Ends the batches that found the library missing with `error`. */
void turn_fail_parked(struct turn *turn, enum err error);

#endif
