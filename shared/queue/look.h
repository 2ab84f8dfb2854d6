/* SPDX-License-Identifier: MIT
 *
 * look: shows the current contents of a node's queue to operators (services/node/show.h).
 * Read-only. Results are valid only during the call. On the queue's thread.
 */
#ifndef PARLEY_QUEUE_LOOK_H
#define PARLEY_QUEUE_LOOK_H

#include "shared/queue/queue.h"

/* Names are as in keys (buf_put_name); models are "*", or names joined by ','. */
struct look_poll {
    struct str account, models;
    struct str engine; /* n == 0: it has no name */
    bool is_parked;    /* else its claim is under way */
    uint64_t waited_ms;
};
struct look_class {
    struct str account, models;
    unsigned parked_n, claiming_n;
    bool is_drained;
};
struct look_claim {
    struct str topic, lease;
    bool is_early; /* handed over before its poll knows that it is parked; else it has reached its
                      engine, which the next turn confirms to Redis */
};
/* The waiters of one query. With many queries in one bucket, some may come in several parts. */
struct look_watch {
    struct str topic;
    uint64_t seq;
    unsigned n;
};

void look_at_polls(const struct queue *queue, void (*visit)(void *arg, const struct look_poll *),
                   void *arg);
void look_at_classes(const struct queue *queue, void (*visit)(void *arg, const struct look_class *),
                     void *arg);
void look_at_claims(const struct queue *queue, void (*visit)(void *arg, const struct look_claim *),
                    void *arg);
void look_at_watches(const struct queue *queue, void (*visit)(void *arg, const struct look_watch *),
                     void *arg);

#endif
