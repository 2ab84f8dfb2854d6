/* SPDX-License-Identifier: MIT
 *
 * turn: runs verbs in Redis. The verbs of one turn of the loop are collected and sent as one call
 * of the function library (lua/library.lua), or several if there are many, so a request costs only
 * a part of a round trip. It loads the library, also after Redis has lost it. One per loop, used on
 * its thread only.
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
#include "shared/redis/verb_info.h"

struct turn;

struct metrics;

/* The place that a verb must have reached before it is acknowledged, if its header says `Durable:
 * yes`: the owner of such a turn calls fence_create (fence.h). */
enum durable { DURABLE_NOT, DURABLE_REPLICA, DURABLE_DISK, DURABLE_NR };

struct turn_config {
    const char *prefix; /* KEYS[1], "parley:{0}:" */
    /* The agreed map that the server must match before it is used; NULL: not checked. */
    const struct shard_map *map;
    unsigned shard;
    const char *node_id; /* letters and digits */
    uint64_t lease_ms, delivery_ms, max_attempts, queue_max, fallback_ms;
    enum durable durable;
    /* An event for this node (see lua/turn/frame.lua); `event` is valid inside the call only. */
    void (*on_event)(void *arg, struct str event);
    /* The library is loaded: verbs run from now on. Also called after an outage during which the
     * connection stayed up (redis_trouble_is_outage). */
    void (*on_up)(void *arg);
    void (*on_lost)(void *arg);
    /* A call with `verb_n` verbs was sent. */
    void (*on_sent)(void *arg, unsigned verb_n);
    void *arg;
    struct metrics *metrics; /* counts verbs; may be NULL */
};

/* Connects, and reconnects indefinitely. `config` is copied; its strings and `address` are
 * borrowed. Its callbacks run on the loop's thread, never before turn_create returns. */
struct turn *turn_create(struct loop *loop, const struct redis_address *address,
                         const struct turn_config *config) must_check;
/* Running calls end with ERR_REDIS_LOST, and nothing more is sent. Calls begun inside these
 * callbacks or later are detached when the turn is destroyed. Stop all turns before destroying any,
 * because a callback may begin a call on another turn.
 */
void turn_stop(struct turn *turn);
/* Stops it if necessary. Accepts NULL. */
void turn_destroy(struct turn *turn);
/* Returns whether the connection is up, or is being made again because the shard moves
 * (topology.h): calls then wait, up to 5 seconds. turn_trouble returns whether verbs run. */
bool turn_is_up(const struct turn *turn);
/* The trouble reported by Redis's last reply or the connection. */
enum redis_trouble turn_trouble(const struct turn *turn);
/* Returns the ways in which this Redis may lose acknowledged data (durability.h). */
unsigned turn_warnings(const struct turn *turn);
/* Returns whether acknowledgements come at once, or none is required (fence.h). */
bool turn_is_prompt(const struct turn *turn);
/* Calls that wait for a reply or to be sent, or whose reply is held (fence.h). */
size_t turn_pending_n(const struct turn *turn);
/* Queries that are on their way to Redis: they run after the claims that are begun now, if these
 * are in the same batch. */
unsigned turn_queries_n(const struct turn *turn);

/* Returns how to start a verb whose reply goes to `call`, or to nobody; without a nonce. Allowed at
 * any time except while another verb is being written; while Redis is unreachable the call ends
 * with ERR_REDIS_LOST. */
static inline struct call_start turn_call(struct turn *turn, struct call *call,
                                          call_reply_cb *on_reply)
{
    return (struct call_start){.turn = turn, .call = call, .on_reply = on_reply};
}
static inline struct call_start turn_forget(struct turn *turn)
{
    return (struct call_start){.turn = turn};
}

/* Inside on_reply or on_orphan: the duration of that call in microseconds. */
uint64_t turn_took_us(const struct turn *turn);

/* Returns whether there is something to send. */
bool turn_is_collecting(const struct turn *turn);
/* Sends what was collected and fails calls that could not be sent. Call it at the end of each turn
 * of the loop, never while a verb is being written. */
void turn_flush(struct turn *turn);

#endif
