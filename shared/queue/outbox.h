/* SPDX-License-Identifier: MIT
 *
 * outbox: with several shards, takes work that one has left for another and does it there.
 * On the loop's thread.
 */
#ifndef PARLEY_QUEUE_OUTBOX_H
#define PARLEY_QUEUE_OUTBOX_H

#include "shared/queue/core.h"

struct outboxes *outboxes_create(struct queue *queue) must_check;
void outboxes_destroy(struct outboxes *outboxes);

/* Notes that there may be some on that shard. */
void outbox_check(struct queue_shard *part);

#endif
