/* SPDX-License-Identifier: MIT
 * takeover.c - how runs come to a node and stay with it (see runs.h and run.h): the verbs for that
 * (shared/lease/leases.h), and reading one that this node has not begun, or has given up. Those
 * are taken that nobody renews: runs of nodes that died, and questions past their deadline. */
#include "services/workflow/run/run.h"

#include "generated/verbs.h"
#include "shared/queue/lines.h"

#include <stdlib.h>

enum { DAY_MS = 86400000 };

/* --- loading ---------------------------------------------------------------------------------- */

static char *next_text(struct lines *lines)
{
    return str_copy(lines_next(lines));
}

/* A name that clients chose: as they wrote it. */
static char *next_unnamed(struct lines *lines)
{
    char bytes[1024];
    struct buf b = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    struct str name = lines_next(lines);
    return str_copy(buf_put_unnamed(&b, name) && !b.is_over ? buf_str(&b) : name);
}

static json_t *next_json(struct lines *lines, bool is_array)
{
    char reason[200];
    json_t *value = NULL;
    if (json_parse(lines_next(lines), reason, sizeof reason, &value) &&
        (is_array ? json_is_array(value) : json_is_object(value)))
        return value;
    json_decref(value);
    return is_array ? json_array() : json_object();
}

char *run_plain_user(struct str user_name)
{
    struct lines lines = lines_of(lines_name_within(user_name));
    return next_unnamed(&lines);
}

/* As lua/workflow/load.lua writes it, after "ok". */
static void read_run(struct run *run, struct lines *lines)
{
    struct str status = lines_next(lines);
    run->is_waiting = str_eq(status, STR("waiting"));
    run->was_approved = str_eq(status, STR("approved"));
    run->verb = next_unnamed(lines);
    run->version = next_text(lines);
    run->agent_name = next_unnamed(lines);
    lines_next(lines); /* attempts begin again */
    run->step = lines_next_u64(lines);
    run->seq = lines_next_u64(lines);
    lines_next(lines); /* the fence, which we were given */
    free(run->account);
    free(run->user_name);
    run->account = next_text(lines);
    run->user_name = next_text(lines);
    run->user = run_plain_user(str_of(run->user_name));
    run->session_id = next_unnamed(lines);
    run->request_id = next_unnamed(lines);
    if (run->traceparent == NULL)
        run->traceparent = str_copy(STR(""));
    lines_next(lines); /* when it began */
    lines_next(lines); /* and changed */
    run->question = lines_next_u64(lines);
    run->question_status = next_text(lines);
    lines_next(lines); /* the deadline */
    lines_next(lines); /* the quorum */
    lines_next(lines); /* approvals */
    run->asked = next_json(lines, false);
    run->answers = next_json(lines, true);
    run->body = next_json(lines, false);
}

/* --- the file --------------------------------------------------------------------------------- */

static bool take_trees(struct run *run, struct trees *trees)
{
    if (trees == NULL || !str_eq(trees_version(trees), str_of(run->version)))
        return false;
    run->trees = trees_ref(trees);
    return true;
}

static bool know_trees(struct run *run)
{
    struct trees *current = trees_file_current(run->runs->workflow->settings->trees);
    bool is_known = take_trees(run, current) || take_trees(run, run->runs->read);
    trees_unref(current);
    return is_known;
}

/* --- a deadline ------------------------------------------------------------------------------- */

static void on_closed(struct call *call, enum err error, struct str reply)
{
    struct run *run = container_of(call, struct run, call);
    struct lines lines = lines_of(reply);
    if (error != ERR_OK || !str_eq(lines_next(&lines), STR("decided"))) {
        run_drop(run, true); /* somebody has answered, or it was too early */
        return;
    }
    const struct run_lease lease = {.session = run->session,
                                    .run = run->n,
                                    .fence = lines_next_u64(&lines),
                                    .account = str_of(run->account),
                                    .user_name = str_of(run->user_name)};
    runs_carry_on(run->runs, &lease);
}

static void close_question(struct run *run)
{
    const struct tree *tree = trees_tree(run->trees, str_of(run->verb));
    const struct tree_node *node = tree == NULL ? NULL : tree_node(tree, str_of(run->agent_name));
    bool goes_on = node != NULL && node->hitl->on_timeout != TIMEOUT_REJECT;
    run_move(run, RUN_CLOSING);
    struct verb_writer verb = begin_workflow_answer(
        shards_call(run->runs->workflow->server->shards, &run->call, on_closed),
        .session = run->session, .run = run->n, .step = run->question, .account = STR(""),
        .user = STR(""), .who_json = STR("null"), .how = WORKFLOW_ANSWER_DEADLINE,
        .is_approved = goes_on, .corrections = STR(""), .before = STR(""), .comment = STR(""));
    end_verb(&verb);
}

static void go_on(struct run *run)
{
    if (run->is_waiting)
        close_question(run);
    else if (run->entry.has_slot)
        run->runs->go_on(run);
    else /* it was read to be closed, and is answered by now */
        run_wait_for_turn(run);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void on_file(struct call *call, enum err error, struct str reply)
{
    struct run *run = container_of(call, struct run, call);
    struct trees_faults faults;
    struct lines lines = lines_of(reply);
    if (error != ERR_OK || !str_eq(lines_next(&lines), STR("ok"))) {
        run_drop(run, true);
        return;
    }
    struct trees *trees = trees_read(lines.rest, &faults);
    if (trees == NULL) {
        log_write(LOG_ERROR, "a stored workflows file cannot be read any more",
                  LOG_S("reason", faults.list[0].reason));
        run_drop(run, true);
        return;
    }
    trees_unref(run->runs->read);
    run->runs->read = trees;
    run->trees = trees_ref(trees);
    go_on(run);
}

static void on_loaded(struct call *call, enum err error, struct str reply)
{
    struct run *run = container_of(call, struct run, call);
    struct lines lines = lines_of(reply);
    if (error != ERR_OK || !str_eq(lines_next(&lines), STR("ok"))) {
        run_drop(run, true);
        return;
    }
    read_run(run, &lines);
    if (!run_fits(run))
        return;
    if (know_trees(run)) {
        go_on(run);
        return;
    }
    run_move(run, RUN_READING);
    call_workflow_file(shards_call(run->runs->workflow->server->shards, &run->call, on_file),
                       .session = run->session, .version = str_of(run->version));
}

void run_load(struct run *run)
{
    call_workflow_load(shards_call(run->runs->workflow->server->shards, &run->call, on_loaded),
                       .session = run->session, .run = run->n);
}

void runs_carry_on(struct runs *runs, const struct run_lease *lease)
{
    char *account = str_copy(lease->account), *user_name = str_copy(lease->user_name);
    struct run *run = run_create(runs, lease->session, lease->run, lease->fence,
                                 lease->is_asking ? RUN_LOADING : RUN_WAITING);
    run->account = account;
    run->user_name = user_name;
    if (lease->is_asking)
        run_load(run);
    else
        run_wait_for_turn(run);
}

/* --- leases ----------------------------------------------------------------------------------- */

static struct run *run_of(struct lease *lease)
{
    return container_of(lease, struct run, lease);
}

static struct runs *runs_of(struct leases *leases)
{
    return container_of(leases, struct runs, leases);
}

static uint64_t keep_ms(struct leases *leases)
{
    return runs_of(leases)->workflow->settings->keep_days * DAY_MS;
}

static void check(struct leases *leases, struct call_start start, bool wants_age)
{
    call_workflow_due(start, .keep_ms = keep_ms(leases), .wants_age = wants_age);
}

static void take(struct leases *leases, struct call_start start, unsigned limit)
{
    call_workflow_take(start, .limit = limit, .keep_ms = keep_ms(leases));
}

static void put_renewal(struct verb_writer *verb, const struct lease *lease)
{
    put_workflow_renew_driven(verb, .run_id = str_of(lease->id), .fence = lease->fence);
}

static void release(struct lease *lease, struct call_start start, uint64_t after_ms)
{
    const struct run *run = run_of(lease);
    call_workflow_release(start, .session = run->session, .run = run->n, .fence = lease->fence,
                          .after_ms = after_ms);
}

static void start(struct leases *leases, struct str id, uint64_t fence, struct lines *rest)
{
    struct run_lease lease = {.session = str_cut(&id, '.'), .fence = fence};
    bool is_id = lease.session.n == WORKFLOW_SID_BYTES && str_parse_u64(id, &lease.run);
    lease.account = lines_next(rest);
    lease.user_name = lines_next(rest);
    lease.is_asking = str_eq(lines_next(rest), STR("waiting"));
    if (is_id)
        runs_carry_on(runs_of(leases), &lease);
}

static void drop(struct lease *lease)
{
    run_drop(run_of(lease), false);
}

static enum lease_use use_of(struct lease *lease)
{
    switch (run_of(lease)->state) {
    case RUN_WAITING:
    case RUN_CROWDED: return LEASE_IDLE;
    case RUN_WORKING: return LEASE_WORKING;
    default: return LEASE_STORING;
    }
}

const struct lease_kind run_leases = {
    .tick_ms = 2000,
    .renew_ms = 2000, /* three of them fit into a lease */
    /* The queue of several shards sends a turn a second. Without one, a check comes within 3.2 s:
     * so a run is taken within 10 s of its node's last sign of life. */
    .check_ms = 900,
    .check_again_ms = 1200,
    .home_bytes = WORKFLOW_SID_BYTES,
    .rows_max = 2 * (RUNS_MAX + RUNS_WAITING_MAX), /* crowded ones are fewer than these */
    .renew_max = 200,
    .take_max = 50,
    .check = check,
    .due = {"1"},
    .take = take,
    .begin_renewal = verb_begin_workflow_renew,
    .put_renewal = put_renewal,
    .release = release,
    .start = start,
    .drop = drop,
    .use_of = use_of,
};
