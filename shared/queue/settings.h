/* SPDX-License-Identifier: MIT
 *
 * settings: finds those that should be the same on all nodes and are not (queue_differences). On
 * the loop's thread.
 */
#ifndef PARLEY_QUEUE_SETTINGS_H
#define PARLEY_QUEUE_SETTINGS_H

#include "shared/queue/core.h"

struct settings *settings_create(void) must_check;
void settings_destroy(struct settings *settings);

/* Compares what a sync's reply says of other nodes' settings with this node's. */
void settings_compare(struct queue *queue, struct lines *lines);

#endif
