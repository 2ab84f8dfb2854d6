/* SPDX-License-Identifier: MIT
 * takeover.c - takes evaluations to this node and keeps them (see evaluation.h), with the verbs for
 * their leases (shared/lease/leases.h), and reads those that this node has not begun. */
#include "services/bots/evaluate/evaluation.h"

#include "generated/verbs.h"
#include "shared/base/json.h"
#include "shared/queue/lines.h"

/* --- loading ---------------------------------------------------------------------------------- */

/* As lua/bots/evaluation_load.lua writes it, after "ok". */
static bool read_run(struct evaluation *e, struct lines *lines)
{
    uint64_t at;
    for (int i = 0; i < 5; i++) /* id, status, namespace, account, user */
        lines_next(lines);
    e->bot = str_copy(lines_next(lines));
    lines_next(lines); /* username */
    bool is_good = measure_of(lines_next(lines), &e->measure);
    uint64_t turns = lines_next_u64(lines);
    at = lines_next_u64(lines);
    lines_next(lines); /* created */
    lines_next(lines); /* updated */
    record_read_summary(lines_next(lines), &e->summary);
    if (!is_good || at >= turns || !conversation_load(lines->rest, &e->talk))
        return false;
    e->at = (unsigned)at;
    return e->talk.turn_n == turns;
}

static void on_loaded(struct call *call, enum err error, struct str reply)
{
    struct evaluation *e = container_of(call, struct evaluation, call);
    struct lines lines = lines_of(reply);
    if (error != ERR_OK || !str_eq(lines_next(&lines), STR("ok"))) {
        evaluation_drop(e);
    } else if (!read_run(e, &lines)) {
        log_write(LOG_ERROR, "a stored evaluation cannot be read",
                  LOG_STR("evaluation", e->digits));
        evaluation_drop(e);
    } else {
        evaluation_go_on(e);
    }
}

void evaluation_load(struct evaluation *e)
{
    evaluation_move(e, EVALUATION_LOADING);
    call_evaluation_load(shards_call(e->all->bots->server->shards, &e->call, on_loaded),
                         .evaluation = e->digits, .run = e->n, .fence = e->lease.fence);
}

/* --- leases ----------------------------------------------------------------------------------- */

static struct evaluation *evaluation_of(struct lease *lease)
{
    return container_of(lease, struct evaluation, lease);
}

static void check(struct leases *leases, struct call_start start, bool wants_age)
{
    (void)leases;
    call_bots_due(start, .of_evaluations = true, .wants_age = wants_age);
}

static void take(struct leases *leases, struct call_start start, unsigned limit)
{
    (void)leases;
    call_evaluation_take(start, .limit = limit);
}

static void put_renewal(struct verb_writer *verb, const struct lease *lease)
{
    put_evaluation_renew_driven(verb, .run_id = str_of(lease->id), .fence = lease->fence);
}

/* Another node may take it at once. */
static void release(struct lease *lease, struct call_start start, uint64_t after_ms)
{
    const struct evaluation *e = evaluation_of(lease);
    (void)after_ms;
    call_evaluation_release(start, .evaluation = e->digits, .run = e->n, .fence = lease->fence);
}

static void start(struct leases *leases, struct str id, uint64_t fence, struct lines *rest)
{
    struct evaluation_start start = {.id = id, .fence = fence, .account = lines_next(rest)};
    start.user = lines_next(rest);
    evaluations_start(container_of(leases, struct evaluations, leases), &start);
}

static void drop(struct lease *lease)
{
    evaluation_drop(evaluation_of(lease));
}

static enum lease_use use_of(struct lease *lease)
{
    enum evaluation_state state = evaluation_of(lease)->state;
    return state == EVALUATION_WAITING   ? LEASE_IDLE
           : state == EVALUATION_STORING ? LEASE_STORING
                                         : LEASE_WORKING;
}

const struct lease_kind evaluation_leases = {
    .tick_ms = 4000,
    .renew_ms = 4000, /* three of them fit into a lease */
    .check_ms = 2000,
    .check_again_ms = 3500,
    .home_bytes = EVALUATION_DIGITS,
    .rows_max = EVALUATIONS_MAX + EVALUATIONS_WAITING_MAX + EVALUATIONS_RESTING_MAX,
    .renew_max = 100,
    .take_max = 20, /* by a full node, too: they may be of somebody whose turn comes first */
    .check = check,
    .due = {"evaluations", "both"},
    .take = take,
    .begin_renewal = verb_begin_evaluation_renew,
    .put_renewal = put_renewal,
    .release = release,
    .start = start,
    .drop = drop,
    .use_of = use_of,
};
