/* SPDX-License-Identifier: MIT
 *
 * dispatcher: calls bots with the deliveries that this node holds under a lease, and stores what
 * comes of them: a reply in the room, or a notice that says what went wrong. One state machine per
 * delivery (the diagram is in dispatcher.c). Nothing about a delivery is kept only here: a node
 * that dies, or loses Redis, leaves it to whichever node takes it when its lease ends, and the bot
 * is called again under the same delivery id.
 *
 * At most DISPATCH_CALLS_MAX calls are under way on a node, and DISPATCH_CALLS_OF_BOT of one bot,
 * so a slow bot does not hold up the others. One per node, on its loop's thread.
 */
#ifndef PARLEY_SERVICES_BOTS_DISPATCHER_H
#define PARLEY_SERVICES_BOTS_DISPATCHER_H

#include "shared/base/buf.h"

enum { DISPATCH_HELD_MAX = 1000, DISPATCH_CALLS_MAX = 64, DISPATCH_CALLS_OF_BOT = 8 };

struct bots;
struct dispatcher;

struct dispatcher *dispatcher_create(struct bots *bots) must_check;
/* Drops all deliveries; others take them when their leases end. Accepts NULL. */
void dispatcher_destroy(struct dispatcher *dispatcher);

/* How many more deliveries it may get leased: the argument of message_add and delivery_reply. */
unsigned dispatcher_room(const struct dispatcher *dispatcher);

/* A delivery that a script has leased to this node: by message_add, delivery_reply or
 * delivery_take. `bot` is a name. Copies both. */
void dispatcher_start(struct dispatcher *dispatcher, struct str delivery, struct str bot,
                      uint64_t fence);

/* Hooks of the service (services/node/service.h). */
void dispatcher_on_up(struct dispatcher *dispatcher, unsigned shard);
void dispatcher_before_flush(struct dispatcher *dispatcher);
/* Calls under way may end; what waits is left to other nodes, and nothing new is taken. */
void dispatcher_drain(struct dispatcher *dispatcher);
/* Of all nodes of the process; any thread. */
void dispatcher_put_metrics(struct buf *b);

#endif
