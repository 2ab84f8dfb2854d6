/* SPDX-License-Identifier: MIT
 *
 * outbox: of several shards: takes work that a shard has left for another shard and does it there.
 * On the loop's thread.
 */
#ifndef PARLEY_QUEUE_OUTBOX_H
#define PARLEY_QUEUE_OUTBOX_H

#include "shared/queue/core.h"

struct outboxes *outboxes_create(struct queue *queue) must_check;
void outboxes_destroy(struct outboxes *outboxes);

/* There may be some on that shard. */
void outbox_look(struct queue_shard *part);

#endif
