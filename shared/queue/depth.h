/* SPDX-License-Identifier: MIT
 *
 * depth: how much waits in the queue and how many engines serve it: what the verb `depth`
 * (lua/operator/depth.lua) replied on each shard, added up. On one thread, no I/O:
 *
 *     struct depth depth;
 *     depth_init(&depth);
 *     for each shard: depth_add(&depth, reply, drained);
 *     ... read its members ...
 *     depth_fini(&depth);
 */
#ifndef PARLEY_QUEUE_DEPTH_H
#define PARLEY_QUEUE_DEPTH_H

#include "shared/queue/lines.h"

/* The states of an engine that is present. One that is at work is not interrupted by a drain, and
 * counts as working. One process counts as often as it polls: once per slot. */
enum engine_state { ENGINE_WAITING, ENGINE_WORKING, ENGINE_RESTING, ENGINE_DRAINED, ENGINE_NR };
extern const char *const engine_state_names[ENGINE_NR]; /* "waiting", … */

/* A model with Open queries. */
struct depth_model {
    struct str name;    /* as in keys (buf_put_name); own memory */
    uint64_t depth;     /* Open queries */
    uint64_t oldest_ms; /* age of the oldest; 0 if none was found */
};

/* Durations are ages at the time of the reply. */
struct depth {
    uint64_t depth;     /* Open queries */
    uint64_t in_flight; /* claims that engines have, or that are on their way */
    uint64_t lookups;   /* that wait for matches */
    uint64_t parked;    /* polls for queries that wait: how many claims could begin now */
    uint64_t oldest_ms; /* age of the oldest Open query; 0 if none */
    uint64_t batches, batch_lines; /* that have not ended; their lines without a result */
    uint64_t engines[ENGINE_NR];
    struct depth_model *models; /* by name */
    size_t model_n;
};

void depth_init(struct depth *depth);
/* Accepts a zeroed one. */
void depth_fini(struct depth *depth);
/* Adds a shard's reply, of which it keeps nothing. `drained`: accounts as names, joined by ','; of
 * these what would wait is drained. False, and unchanged, if the reply is not "ok". */
bool depth_add(struct depth *depth, struct str reply, struct str drained) must_check;

#endif
