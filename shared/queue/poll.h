/* SPDX-License-Identifier: MIT
 *
 * poll: engines' polls, which look for work and park. queue.h has their interface; this is for the
 * queue's events. On the loop's thread.
 */
#ifndef PARLEY_QUEUE_POLL_H
#define PARLEY_QUEUE_POLL_H

#include "shared/queue/core.h"

/* Handles that an engine has begun a newer poll, here or on another node. */
void polls_on_supersede(struct queue *queue, struct lines *rest);

#endif
