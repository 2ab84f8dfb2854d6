/* SPDX-License-Identifier: MIT
 *
 * services: what one node runs, hung on its server (struct server). Services know nothing of each
 * other: each takes its own pointer out of here, and the queue that they all put questions into.
 * One per thread; filled before the node serves.
 */
#ifndef PARLEY_SERVICES_NODE_SERVICES_H
#define PARLEY_SERVICES_NODE_SERVICES_H

#include "shared/http/request.h"

struct queue;
struct broker;
struct documents;

struct services {
    struct queue *queue;
    struct broker *broker;       /* NULL: not of this process's targets */
    struct documents *documents; /* the same */
};

static inline struct services *services_of(struct request *r)
{
    return r->server->services;
}

#endif
