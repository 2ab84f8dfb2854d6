/* SPDX-License-Identifier: MIT
 *
 * timers: runs the timed work of a node's queue: sync, reap and purge of each shard. core.h has the
 * functions that set the first two, queue.h those for a node that leaves and for the end of a pass.
 * On the loop's thread.
 */
#ifndef PARLEY_QUEUE_TIMERS_H
#define PARLEY_QUEUE_TIMERS_H

#include "shared/queue/core.h"

/* Sets the timers of all shards. */
struct timers *timers_create(struct queue *queue) must_check;
/* Unsets them. */
void timers_destroy(struct queue *queue);

#endif
