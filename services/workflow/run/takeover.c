/* SPDX-License-Identifier: MIT
 * takeover.c - how runs come to a node and stay with it (see run.h). While agents work, the node
 * renews their fences together. Every few seconds, and when Redis is back, it takes what nobody
 * renews: runs of nodes that died, and questions past their deadline. */
#include "services/workflow/run/run.h"

#include "generated/verbs.h"
#include "shared/queue/lines.h"

#include <stdlib.h>

enum {
    TICK_MS = 2000, /* three of them fit into a fence */
    /* Whether there is something to take is asked with a turn that is sent anyway, at most this
     * often (the queue of several shards sends one a second), or at a tick if that was long ago:
     * within 3.2 s. So a run is taken within 10 s of its node's last sign of life. */
    LOOK_MS = 900,
    LOOK_AGAIN_MS = 1200,
    TAKE_MAX = 50,
    RENEW_MAX = 200,
    /* Those that are driven, wait for their turn, and are crowded, which are fewer. */
    RENEWALS_MAX = 2 * (RUNS_MAX + RUNS_WAITING_MAX) / RENEW_MAX,
    DAY_MS = 86400000,
};

/* What is under way with one shard. */
struct taking {
    struct call look_call, call;
    uint64_t looked_ms;
    struct runs *runs;
    struct renewal {
        struct call call;
        struct runs *runs;
    } renewals[RENEWALS_MAX];
};

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

static char *plain_user(struct str user_name)
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
    run->user = plain_user(str_of(run->user_name));
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
    struct run *run = H2O_STRUCT_FROM_MEMBER(struct run, call, call);
    struct lines lines = lines_of(reply);
    if (error != ERR_OK || !str_eq(lines_next(&lines), STR("decided"))) {
        run_drop(run, true); /* somebody has answered, or it was too early */
        return;
    }
    const struct run_lease lease = {.session = str_of(run->session),
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
        .session = str_of(run->session), .run = run->n, .step = run->question, .account = STR(""),
        .user = STR(""), .who_json = STR("null"), .how = WORKFLOW_ANSWER_DEADLINE,
        .is_approved = goes_on, .corrections = STR(""), .before = STR(""), .comment = STR(""));
    end_verb(&verb);
}

static void go_on(struct run *run)
{
    if (run->is_waiting)
        close_question(run);
    else if (run->entry.has_slot)
        run_go_on(run);
    else /* it was read to be closed, and is answered by now */
        run_wait_for_turn(run);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void on_file(struct call *call, enum err error, struct str reply)
{
    struct run *run = H2O_STRUCT_FROM_MEMBER(struct run, call, call);
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
    struct run *run = H2O_STRUCT_FROM_MEMBER(struct run, call, call);
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
                       .session = str_of(run->session), .version = str_of(run->version));
}

void run_load(struct run *run)
{
    call_workflow_load(shards_call(run->runs->workflow->server->shards, &run->call, on_loaded),
                       .session = str_of(run->session), .run = run->n);
}

/* --- keeping and taking ----------------------------------------------------------------------- */

/* `id`: <session>.<run>. */
static bool split(struct str id, struct str *ret_session, uint64_t *ret_n)
{
    *ret_session = str_cut(&id, '.');
    return ret_session->n == WORKFLOW_SID_BYTES && str_parse_u64(id, ret_n);
}

/* The others say with a verb of their own that they are alive. */
static bool is_kept(const struct run *run)
{
    return run->state == RUN_WORKING || run->state == RUN_WAITING || run->state == RUN_CROWDED;
}

static void on_renewed(struct call *call, enum err error, struct str reply)
{
    struct runs *runs = H2O_STRUCT_FROM_MEMBER(struct renewal, call, call)->runs;
    struct lines lines = lines_of(reply);
    struct str session;
    uint64_t n;
    while (error == ERR_OK && lines_are_left(&lines) && split(lines_next(&lines), &session, &n)) {
        struct run *run = runs_find(runs, session, n);
        if (run != NULL && is_kept(run))
            run_drop(run, false);
    }
}

static void put_driven(struct verb_writer *verb, const struct run *run)
{
    char id[WORKFLOW_SID_BYTES + 1 + STR_U64_MAX];
    struct buf b = {.at = id, .cap = sizeof id, .max = sizeof id};
    buf_put(&b, str_of(run->session));
    buf_put_char(&b, '.');
    buf_put_u64(&b, run->n);
    put_workflow_renew_driven(verb, .run_id = buf_str(&b), .fence = run->fence);
}

static struct run *next_driven(struct run *run, const struct turn *turn)
{
    while (run != NULL && (run->turn != turn || !is_kept(run)))
        run = run->next;
    return run;
}

/* All that it drives there, in as many calls as that takes. */
static void renew(struct taking *taking, struct turn *turn)
{
    struct run *run = next_driven(taking->runs->first, turn);
    for (unsigned i = 0; i < RENEWALS_MAX && run != NULL; i++) {
        if (call_is_under_way(&taking->renewals[i].call))
            return;
        struct verb_writer verb =
            begin_workflow_renew(turn_call(turn, &taking->renewals[i].call, on_renewed));
        for (unsigned n = 0; n < RENEW_MAX && run != NULL; n++) {
            put_driven(&verb, run);
            run = next_driven(run->next, turn);
        }
        end_verb(&verb);
    }
}

static void on_taken(struct call *call, enum err error, struct str reply)
{
    struct taking *taking = H2O_STRUCT_FROM_MEMBER(struct taking, call, call);
    struct lines lines = lines_of(reply);
    struct run_lease lease = {.run = 0};
    while (error == ERR_OK && lines_are_left(&lines) &&
           split(lines_next(&lines), &lease.session, &lease.run)) {
        lease.fence = lines_next_u64(&lines);
        lease.account = lines_next(&lines);
        lease.user_name = lines_next(&lines);
        lease.is_asking = str_eq(lines_next(&lines), STR("waiting"));
        runs_carry_on(taking->runs, &lease);
    }
}

static void take(struct runs *runs, unsigned shard)
{
    struct taking *taking = &runs->takings[shard];
    struct server *server = runs->workflow->server;
    if (server->is_draining || call_is_under_way(&taking->call) ||
        !turn_is_up(server->shards->turns[shard]))
        return;
    call_workflow_take(turn_call(server->shards->turns[shard], &taking->call, on_taken),
                       .limit = TAKE_MAX, .keep_ms = runs->workflow->settings->keep_days * DAY_MS);
}

static void on_looked(struct call *call, enum err error, struct str reply)
{
    struct taking *taking = H2O_STRUCT_FROM_MEMBER(struct taking, look_call, call);
    if (error == ERR_OK && str_eq(reply, STR("1")))
        take(taking->runs, (unsigned)(taking - taking->runs->takings));
}

static void look(struct runs *runs, unsigned shard)
{
    struct taking *taking = &runs->takings[shard];
    struct turn *turn = runs->workflow->server->shards->turns[shard];
    if (runs->workflow->server->is_draining || call_is_under_way(&taking->look_call) ||
        !turn_is_up(turn))
        return;
    taking->looked_ms = clock_mono_ms();
    call_workflow_look(turn_call(turn, &taking->look_call, on_looked),
                       .keep_ms = runs->workflow->settings->keep_days * DAY_MS);
}

void runs_before_flush(struct runs *runs)
{
    const struct shards *shards = runs->workflow->server->shards;
    for (unsigned i = 0; i < shards->n; i++)
        if (clock_mono_ms() >= runs->takings[i].looked_ms + LOOK_MS &&
            turn_is_collecting(shards->turns[i]))
            look(runs, i);
}

static void on_tick(struct deadline *deadline)
{
    struct runs *runs = H2O_STRUCT_FROM_MEMBER(struct runs, tick, deadline);
    for (unsigned i = 0; i < runs->workflow->server->shards->n; i++) {
        renew(&runs->takings[i], runs->workflow->server->shards->turns[i]);
        if (clock_mono_ms() >= runs->takings[i].looked_ms + LOOK_AGAIN_MS)
            look(runs, i);
    }
    loop_set_deadline(runs->workflow->server->loop, &runs->tick, TICK_MS);
}

void runs_on_up(struct runs *runs, unsigned shard)
{
    take(runs, shard);
}

void takeover_init(struct runs *runs)
{
    unsigned n = runs->workflow->settings->map->n;
    runs->takings = calloc(n, sizeof *runs->takings);
    if (runs->takings == NULL)
        abort();
    for (unsigned i = 0; i < n; i++) {
        runs->takings[i].runs = runs;
        for (unsigned k = 0; k < RENEWALS_MAX; k++)
            runs->takings[i].renewals[k].runs = runs;
    }
    runs->tick.on_expire = on_tick;
    loop_set_deadline(runs->workflow->server->loop, &runs->tick, TICK_MS);
}

void takeover_fini(struct runs *runs)
{
    loop_cancel_deadline(runs->workflow->server->loop, &runs->tick);
    for (unsigned i = 0; i < runs->workflow->settings->map->n; i++) {
        call_detach(&runs->takings[i].look_call);
        call_detach(&runs->takings[i].call);
        for (unsigned k = 0; k < RENEWALS_MAX; k++)
            call_detach(&runs->takings[i].renewals[k].call);
    }
    free(runs->takings);
}
