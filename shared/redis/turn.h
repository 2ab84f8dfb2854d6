/* SPDX-License-Identifier: MIT
 *
 * turn: the way to Redis's scripts. What one turn of the loop asks for is collected and sent as
 * one call of the function library (lua/library.lua), so a request costs a part of one round
 * trip; or as several, where it is much. Makes sure that the library is loaded, again when Redis
 * has lost it. One per loop, used on its thread only.
 *
 *     call_retry(turn_call(turn, &op->call, on_retried), .topic = topic, .seq = seq);
 *
 * Calls of verbs are generated from their headers (verb.h).
 */
#ifndef PARLEY_REDIS_TURN_H
#define PARLEY_REDIS_TURN_H

#include "shared/redis/call.h"
#include "shared/redis/conn.h"
#include "shared/redis/shard_map.h"
#include "shared/redis/trouble.h"

struct turn;

/* Verbs of one turn run lane by lane: answers free engines before polls look for work, polls wait
 * before new queries come (which are then handed over instead of queued), readers come last. */
enum turn_lane { LANE_FIRST, LANE_CLAIM, LANE_ADD, LANE_READ, LANE_NR };

enum { NONCE_ID_BYTES = 16, TURN_ARGS_MAX = 999 };
struct nonce_id {
    unsigned char bytes[NONCE_ID_BYTES];
    bool is_set;
    bool is_record_only; /* it may have been stored by an earlier try: store it, refuse nothing */
};

struct metrics;

struct turn_config {
    const char *prefix; /* KEYS[1], "parley:{0}:" */
    /* What the server has to have agreed on before it is used; NULL: nothing. */
    const struct shard_map *map;
    unsigned shard;
    const char *node_id; /* letters and digits */
    uint64_t lease_ms, delivery_ms, max_attempts, queue_max, fallback_ms;
    /* An event for this node (see lua/turn/frame.lua); `event` is valid inside the call only. */
    void (*on_event)(void *arg, struct str event);
    /* The library is loaded: verbs run from here on. Also when an outage of a Redis that stood all
     * the time is over (redis_trouble_is_outage). */
    void (*on_up)(void *arg);
    void (*on_lost)(void *arg);
    /* A call with so many verbs was sent. */
    void (*on_sent)(void *arg, unsigned verb_n);
    void *arg;
    struct metrics *metrics; /* verbs are counted there; NULL: nowhere */
};

/* Connects, and reconnects indefinitely. `config` is copied; its strings and `address` are
 * borrowed. What is in it runs on the loop's thread, never before turn_create returns. */
struct turn *turn_create(struct loop *loop, const struct redis_address *address,
                         const struct turn_config *config) must_check;
/* Calls under way get ERR_REDIS_LOST, and nothing is sent any more. Calls that are begun inside
 * these callbacks, or later, are detached when the turn is destroyed, if they have not ended. Of
 * several turns, all are stopped before one is destroyed: a callback may begin a call on another.
 */
void turn_stop(struct turn *turn);
/* Stops it if need be. Accepts NULL. */
void turn_destroy(struct turn *turn);
/* The connection stands. Whether verbs run, turn_trouble says. */
bool turn_is_up(const struct turn *turn);
/* What Redis's last reply, or the connection, said was wrong. */
enum redis_trouble turn_trouble(const struct turn *turn);
/* How this Redis may lose what it acknowledged (durability.h). */
unsigned turn_warnings(const struct turn *turn);
/* Calls that wait for a reply or to be sent. */
size_t turn_pending_n(const struct turn *turn);

/* How a verb is started whose reply goes to `call`, or to nobody; without a nonce. At any time, but
 * not while another one is being written: while Redis is gone it ends with ERR_REDIS_LOST. */
static inline struct call_start turn_call(struct turn *turn, struct call *call,
                                          call_reply_cb *on_reply)
{
    return (struct call_start){.turn = turn, .call = call, .on_reply = on_reply};
}
static inline struct call_start turn_forget(struct turn *turn)
{
    return (struct call_start){.turn = turn};
}

/* Inside on_reply or on_orphan: how long that call took, in microseconds, from its begin. */
uint64_t turn_took_us(const struct turn *turn);

/* Is there something to send? */
bool turn_is_collecting(const struct turn *turn);
/* Sends what was collected, and answers those whose verbs could not be sent; to be called at the
 * end of each turn of the loop, never while a verb is being written. */
void turn_flush(struct turn *turn);

#endif
