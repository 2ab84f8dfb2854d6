/* SPDX-License-Identifier: MIT
 *
 * publisher: sends messages to nodes' buses (bus.h) without a script, over a connection of its own
 * on which Redis's replies are turned off: a message costs Redis a tenth of a call. A message may
 * be lost, and nobody learns of it, so the receiver must notice that it misses one. One per shard
 * and loop, used on its thread only.
 *
 * A user of Redis who may not turn replies off (CLIENT REPLY) gets and ignores them.
 */
#ifndef PARLEY_REDIS_PUBLISHER_H
#define PARLEY_REDIS_PUBLISHER_H

#include "shared/redis/conn.h"

enum { PUBLISHER_MAX_BYTES = 4 << 20 }; /* that Redis has not taken; what comes then is dropped */

struct publisher;

/* Connects, and reconnects indefinitely. `is_sharded` and `prefix` as in bus_create. Borrows
 * `address`, copies the rest. */
struct publisher *publisher_create(struct loop *loop, const struct redis_address *address,
                                   const char *prefix, bool is_sharded) must_check;
/* Drops what is not written. Accepts NULL. */
void publisher_destroy(struct publisher *publisher);
/* Sends a message to the bus of that node: events, <length>:<bytes> one after the other. Copies it.
 * Returns false if it is dropped, because Redis has not taken enough of those before it. */
bool publisher_send(struct publisher *publisher, struct str node, struct str message) must_check;
/* Writes what was sent. */
void publisher_flush(struct publisher *publisher);

#endif
