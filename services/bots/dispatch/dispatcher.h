/* SPDX-License-Identifier: MIT
 *
 * dispatcher: calls bots with the deliveries that this node holds under a lease, and stores what
 * comes of them: a reply in the room, or a notice that says what went wrong. One state machine per
 * delivery (the diagram is in delivery.c). Nothing about a delivery is kept only here: a node
 * that dies, or loses Redis, leaves it to whichever node takes it when its lease ends, and the bot
 * is called again under the same delivery id.
 *
 * At most DISPATCH_CALLS_MAX calls are under way on a node, and DISPATCH_CALLS_OF_BOT of one bot.
 * Those who write to bots take turns (ADR 77), so neither a slow bot nor many messages of one
 * account hold up the others. One per node, on its loop's thread.
 */
#ifndef PARLEY_SERVICES_BOTS_DISPATCHER_H
#define PARLEY_SERVICES_BOTS_DISPATCHER_H

#include "shared/base/buf.h"

struct bots;
struct bots_delivery;
struct dispatcher;
struct lease_kind;

/* `kind` is borrowed (takeover.c). */
struct dispatcher *dispatcher_create(struct bots *bots, const struct lease_kind *kind) must_check;
/* Drops all deliveries; others take them when their leases end. Accepts NULL. */
void dispatcher_destroy(struct dispatcher *dispatcher);

/* Returns how many more deliveries may be leased to this node: the argument of message_add and
 * delivery_reply. */
unsigned dispatcher_capacity(const struct dispatcher *dispatcher);

/* The task of a node that takes it (lua/bots/deliveries.lua). */
enum delivery_task { TASK_CALL, TASK_BUSY, TASK_LATE, TASK_OVER, TASK_NR };

/* A delivery as delivery_take leased it. `age_ms`: of its message; `attempt`: that have begun. */
struct delivery_lease {
    struct str id, bot, account, user;
    uint64_t fence, age_ms;
    unsigned attempt;
    enum delivery_task task;
};
/* Copies it. */
void delivery_start(struct dispatcher *dispatcher, const struct delivery_lease *lease);
/* The same of one that message_add or delivery_reply has leased to this node. */
void dispatcher_start(struct dispatcher *dispatcher, const struct bots_delivery *delivery);

/* Calls under way may end; what waits is left to other nodes, and nothing new is taken. */
void dispatcher_drain(struct dispatcher *dispatcher);
/* Puts the metrics of all nodes of the process; any thread. */
void dispatcher_put_metrics(struct buf *b);

#endif
