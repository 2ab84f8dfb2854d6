/* SPDX-License-Identifier: MIT
 *
 * runs: drives runs, one state machine each (the diagram is in run.c). A run belongs
 * to the node that holds its fence; each step is stored with its frame before anybody sees it, and
 * the fence is compared in that same step. A node that cannot store, or has lost the fence, drops
 * the run without a word: whichever node takes it (takeover.c) carries on from what is stored.
 *
 * One per node, on its loop's thread.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_RUNS_H
#define PARLEY_SERVICES_WORKFLOW_RUNS_H

#include "services/workflow/workflow.h"
#include "shared/base/json.h"

/* Runs of a node that are driven at a time, and that wait for their turn. */
enum { RUNS_MAX = 1000, RUNS_WAITING_MAX = 3000 };

struct leases;
struct trees;

struct runs *runs_create(struct workflow *workflow) must_check;
/* Drops all runs; others take them when their fences end. Accepts NULL. */
void runs_destroy(struct runs *runs);

/* A run that workflow_begin has just stored. Texts and `body` are copied; `trees` is taken over. It
 * begins when it is its turn. */
struct run_start {
    struct str session; /* sid */
    uint64_t run, fence;
    struct str account, user_name, session_id, request_id;
    struct str verb; /* "GENERIC": the router finds it */
    struct str traceparent;
    struct trees *trees;
    const json_t *body;
};
void runs_start(struct runs *runs, const struct run_start *start);

/* A run that is leased to this node (by workflow_answer or workflow_take). */
struct run_lease {
    struct str session; /* sid */
    uint64_t run, fence;
    struct str account, user_name; /* names: whose turn it takes */
    bool is_asking; /* its question has reached its deadline, which is seen to at once */
};
/* Reads it when it is its turn, and carries on where it is: with what a person decided, with a
 * deadline that has passed, or with its agent. */
void runs_carry_on(struct runs *runs, const struct run_lease *lease);

/* Returns the leases of the runs that this node holds, for the hooks of the service. */
struct leases *runs_leases(struct runs *runs);
void runs_put_metrics(struct buf *b);

#endif
