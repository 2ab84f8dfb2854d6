/* SPDX-License-Identifier: MIT
 *
 * status: the lists of GET /api/status, from what each shard returned (lua/operator/status.lua):
 * status.c reads the replies and adds up their counts, status_lists.c puts the engines and nodes
 * that are there.
 */
#ifndef PARLEY_SERVICES_BROKER_STATUS_H
#define PARLEY_SERVICES_BROKER_STATUS_H

#include "shared/http/request.h"
#include "shared/queue/lines.h"
#include "shared/redis/shards.h"

/* What the shards count, added up. */
struct status {
    uint64_t depth, oldest_ms, in_flight, lookups, parked, added, done, failed, span_s;
    bool has_oldest;
    unsigned shard_n;
    struct str drained;                                  /* the cluster's shard knows it */
    struct lines engines[SHARDS_MAX], nodes[SHARDS_MAX]; /* the first lines of each list */
    uint64_t engine_n[SHARDS_MAX];
};

enum { STATUS_ENGINE_LINES = 4 };

/* Puts the members of the list `Engines`, one for each process that names itself, however many
 * slots it has. Memory of the request. */
void status_put_engines(struct buf *b, struct request *r, const struct status *status);
/* Puts the members of the list `Nodes`. */
void status_put_nodes(struct buf *b, const struct status *status);

#endif
