/* SPDX-License-Identifier: MIT
 *
 * watch: delivers outcomes to the requests that wait for them. queue.h has the interface; this is
 * for the queue's events. On the loop's thread.
 */
#ifndef PARLEY_QUEUE_WATCH_H
#define PARLEY_QUEUE_WATCH_H

#include "shared/queue/core.h"

enum { WATCH_BUCKET_N = 4096 };

struct watches *watches_create(void) must_check;
void watches_destroy(struct watches *watches);

/* Calls on_changed of every watch whose topic is on that shard. */
void watches_recheck(struct queue *queue, unsigned shard);
void watches_on_outcome(struct queue *queue, struct lines *rest);
void watches_on_changed(struct queue *queue, struct lines *rest);
void watches_on_piece(struct queue *queue, struct lines *rest);
/* The first watch of a bucket. */
const struct list *watches_at(const struct queue *queue, unsigned bucket);

#endif
