/* SPDX-License-Identifier: MIT
 *
 * poll_move: claims for a class on a shard other than that of a credit: a parked poll takes the
 * work that waits there, and hints bring such requests to this node (lua/queue/hints.lua). On the
 * loop's thread.
 */
#ifndef PARLEY_QUEUE_POLL_MOVE_H
#define PARLEY_QUEUE_POLL_MOVE_H

#include "shared/queue/poll_class.h"

struct moves *moves_create(void) must_check;
void moves_destroy(struct moves *moves);

/* A poll is cancelled while its claim is under way at that shard: the class takes over what the
 * claim takes or is granted. `is_claim`: the claim is one of class->claims. */
void move_leave(struct poll_class *class, struct call *call, unsigned shard, bool is_claim);
/* Makes the other shards notify this node of queries that the class may take. */
void move_state_hints(struct poll_class *class, unsigned but);
/* A query for a model waits on that shard: lets one of our polls try to take it. */
void moves_on_work(struct queue *queue, unsigned shard, struct lines *rest);
/* Polls have parked, or moved without success: checks earlier notifications again. */
void moves_retry(struct queue *queue);

#endif
