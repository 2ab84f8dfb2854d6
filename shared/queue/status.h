/* SPDX-License-Identifier: MIT
 *
 * status: adds up what the verb `status` returns on each shard (lua/operator/status.lua), for GET
 * /api/status and for `parley show`. Texts are borrowed from the replies. Pure; any thread.
 */
#ifndef PARLEY_QUEUE_STATUS_H
#define PARLEY_QUEUE_STATUS_H

#include "shared/base/buf.h"
#include "shared/queue/lines.h"
#include "shared/redis/shards.h"

#include <stdbool.h>

/* The counts of all shards, added up. */
struct status {
    uint64_t depth, oldest_ms, in_flight, lookups, parked, added, done, failed, span_s;
    bool has_oldest;
    /* Failed queries that are kept, unfinished runs (if has_runs: not too many to count), jobs of
     * documents that run or are next, those that no indexer can read, deliveries to bots,
     * evaluations, and batches that have not ended. */
    uint64_t failed_kept, runs, jobs, unread_jobs, deliveries, evaluations, batches;
    bool has_runs;
    unsigned shard_n;
    struct str drained;                                  /* the cluster's shard knows it */
    struct lines engines[SHARDS_MAX], nodes[SHARDS_MAX]; /* the first lines of each list */
    uint64_t engine_n[SHARDS_MAX];
};

/* Puts the members `Depth` to `Recent`, and `Work`, as GET /api/status has them. */
void status_put_counts(struct buf *b, const struct status *status);

/* The lines of one engine: "<account> <engine>", state, age in ms, info. */
enum { STATUS_ENGINE_LINES = 4 };

/* Prepares the status of `shard_n` shards, with none of them added yet. */
void status_init(struct status *status, unsigned shard_n);
/* Adds what a shard replied: "ok" and what follows. */
void status_read(struct status *status, unsigned shard, struct str reply);

/* A node: each thread of a process is one. */
struct status_node {
    struct str id; /* a name */
    bool is_gone;  /* it did not say that it leaves, and listens no more */
    uint64_t age_ms;
    struct str info; /* JSON */
};
/* The next node of a list, which begins with status->nodes[shard]. False: there is none. */
bool status_next_node(struct lines *nodes, struct status_node *ret_node) must_check;
/* Returns whether that node of `shard` is to be shown: no shard up to this one has shown it, or
 * knows that it lives if it is gone here. */
bool status_is_first(const struct status *status, unsigned shard,
                     const struct status_node *node) must_check;

#endif
