/* SPDX-License-Identifier: MIT
 *
 * view: shows the current contents of a node's queue to operators (services/node/show.h).
 * Read-only. Results are valid only during the call. On the queue's thread.
 */
#ifndef PARLEY_QUEUE_VIEW_H
#define PARLEY_QUEUE_VIEW_H

#include "shared/queue/queue.h"

/* Names are as in keys (buf_put_name); models are "*", or names joined by ','. */
struct view_poll {
    struct str account, models;
    struct str engine; /* n == 0: it has no name */
    bool is_parked;    /* else its claim is under way */
    uint64_t waited_ms;
};
struct view_class {
    struct str account, models;
    unsigned parked_n, claiming_n;
    bool is_drained;
};
struct view_claim {
    struct str topic, lease;
    bool is_early; /* handed over before its poll knows that it is parked; else it has reached its
                      engine, which the next turn confirms to Redis */
};
/* The waiters of one query. With many queries in one bucket, some may come in several parts. */
struct view_watch {
    struct str topic;
    uint64_t seq;
    unsigned n;
};

void view_polls(const struct queue *queue, void (*visit)(void *arg, const struct view_poll *),
                void *arg);
void view_classes(const struct queue *queue, void (*visit)(void *arg, const struct view_class *),
                  void *arg);
void view_claims(const struct queue *queue, void (*visit)(void *arg, const struct view_claim *),
                 void *arg);
void view_watches(const struct queue *queue, void (*visit)(void *arg, const struct view_watch *),
                  void *arg);

#endif
