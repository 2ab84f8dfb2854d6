/* SPDX-License-Identifier: MIT
 *
 * deliver: reports to Redis what became of claims that were given to engines: confirms them
 * together, or gives them back. Owners of polls call queue.h. On the loop's thread.
 */
#ifndef PARLEY_QUEUE_DELIVER_H
#define PARLEY_QUEUE_DELIVER_H

#include "shared/queue/core.h"

struct deliveries *deliveries_create(struct queue *queue) must_check;
void deliveries_destroy(struct queue *queue);

/* Adds due confirmations to the turn that is about to be sent. */
void delivered_before_flush(struct queue_shard *part);
/* Reports that shard's delivered claims. */
void delivered_report(struct queue_shard *part);
/* Calls `visit` for each claim that is not confirmed yet. */
void delivered_each(const struct queue *queue,
                    void (*visit)(void *arg, struct str topic, struct str lease), void *arg);

#endif
