/* SPDX-License-Identifier: MIT
 *
 * bus: what other nodes send to this one: a connection subscribed to the node's own channel and to
 * the one for all nodes. Pub/sub is at most once: a caller that relies on a message registers, then
 * looks, then waits; looks again now and then; and after `on_up`, since everything may have been
 * missed before it. One per shard and loop, used on its thread only.
 *
 * On a cluster of several shards channels are sharded (SSUBSCRIBE): in a Redis Cluster a message
 * then costs the server of its channel and no other. One shard keeps SUBSCRIBE, as nodes of the
 * former release have it.
 */
#ifndef PARLEY_REDIS_BUS_H
#define PARLEY_REDIS_BUS_H

#include "shared/redis/conn.h"

struct bus;

struct bus_events {
    /* One event; `event` is valid inside the call only. */
    void (*on_event)(void *arg, struct str event);
    /* All subscriptions stand (again). */
    void (*on_up)(void *arg);
    void *arg;
};

/* Connects, and reconnects indefinitely. Channels: <prefix>node:<node_id> and <prefix>all, sharded
 * ones too with `is_sharded`. Borrows `address` and copies all else. Events run on the loop's
 * thread, never before it returns. */
struct bus *bus_create(struct loop *loop, const struct redis_address *address, const char *prefix,
                       const char *node_id, bool is_sharded, struct bus_events events) must_check;
/* No event runs any more. Accepts NULL. */
void bus_destroy(struct bus *bus);
/* Do all subscriptions stand? */
bool bus_is_up(const struct bus *bus);
/* REDIS_FINE while it is up, else why it is not. */
enum redis_trouble bus_trouble(const struct bus *bus);

/* Calls on_event for each event of a message, <length>:<bytes> one after the other. False when the
 * message is of another form (what came before was delivered). Public for its fuzz target. */
bool bus_read_message(struct str message, void (*on_event)(void *arg, struct str event), void *arg);

#endif
