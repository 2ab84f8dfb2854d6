/* SPDX-License-Identifier: MIT
 *
 * shown: sends pieces of unfinished answers to the nodes that show them, before they are stored:
 * all pieces of one turn of the loop for one node in one message (publisher.h). One that is lost is
 * noticed by the next, or by what is said when they are stored (lua/queue/partial.lua), and then
 * read. Part of the queue (core.h); on the loop's thread.
 */
#ifndef PARLEY_QUEUE_SHOWN_H
#define PARLEY_QUEUE_SHOWN_H

#include "shared/queue/core.h"

/* A node that holds the engine's socket registers here for the queries whose pieces it shows. In
 * its owner's memory. */
struct shower {
    struct list_link link; /* of its bucket */
    struct str topic;      /* name; borrowed from the owner */
    uint64_t seq;
    /* That node shows the query: it is to be sent what is not stored, and all that comes. `node` is
     * valid inside the call only. */
    void (*on_watched)(struct shower *shower, struct str node);
};

struct showers *showers_create(void) must_check;
void showers_destroy(struct showers *showers);

void queue_show_start(struct queue *queue, struct shower *shower);
/* Does nothing if it has not started. */
void queue_show_stop(struct queue *queue, struct shower *shower);
/* Sends a piece to a node, which may be this one. */
void queue_show(struct queue *queue, const struct shower *shower, struct str node,
                const struct piece *piece);

/* For the queue: an event `watched`, and the end of the loop's turn. */
void showers_on_watched(struct queue *queue, struct lines *rest);
void showers_flush(struct queue *queue);

#endif
