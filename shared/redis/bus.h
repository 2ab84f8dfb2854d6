/* SPDX-License-Identifier: MIT
 *
 * bus: receives messages from other nodes over a connection that is subscribed to the node's own
 * channel and to the channel for all nodes. Pub/sub delivers at most once, so a caller that relies
 * on a message registers, checks the state, then waits; it checks again periodically and after
 * `on_up`, because any message may have been missed before. One per shard and loop, used on its
 * thread only.
 *
 * On a cluster of several shards channels are sharded (SSUBSCRIBE): in a Redis Cluster a message
 * then costs only the server of its channel. One shard keeps SUBSCRIBE: there is only one server.
 */
#ifndef PARLEY_REDIS_BUS_H
#define PARLEY_REDIS_BUS_H

#include "shared/redis/conn.h"

struct bus;

struct bus_events {
    /* One event; `event` is valid inside the call only. */
    void (*on_event)(void *arg, struct str event);
    /* All subscriptions are established (again). */
    void (*on_up)(void *arg);
    void *arg;
};

/* Connects, and reconnects indefinitely. Channels: <prefix>node:<node_id> and <prefix>all, sharded
 * ones too with `is_sharded`. Borrows `address` and copies the rest. Events run on the loop's
 * thread, never before this returns. */
struct bus *bus_create(struct loop *loop, const struct redis_address *address, const char *prefix,
                       const char *node_id, bool is_sharded, struct bus_events events) must_check;
/* No event runs afterwards. Accepts NULL. */
void bus_destroy(struct bus *bus);
/* Connects again if the shard is on another server now (topology.h). */
void bus_check_place(struct bus *bus);
/* Returns whether all subscriptions are established. */
bool bus_is_up(const struct bus *bus);
/* REDIS_FINE while it is up, otherwise the reason. */
enum redis_trouble bus_trouble(const struct bus *bus);

/* Calls on_event for each event of a message, <length>:<bytes> one after the other. Returns false
 * if the message is malformed (earlier events were delivered). Public for its fuzz target. */
bool bus_read_message(struct str message, void (*on_event)(void *arg, struct str event), void *arg);

#endif
