/* SPDX-License-Identifier: MIT
 * run.c - the states of runs, and which of them this node works on (see run.h).
 *
 *   runs_start, _carry_on --> WAITING ----> WORKING <----+ the next agent, or a retry
 *                              ^  | not read | |  ^  |   |
 *                  there is    |  v          | |  +--+   |
 *                    room   CROWDED <-- no --+ |         |
 *                       LOADING        room    v         |
 *                        |  | +----------> STORING ------+
 *                        |  |                 |  (the step is stored, then its frame is sent)
 *                        v  v                 v
 *                   READING CLOSING   ENDED: over, waiting for a person, or no longer ours
 *
 * WAITING: for its turn, and CROWDED: for room in the queue; then it is read again. READING: the
 * workflows file has a version other than this node's. CLOSING: nobody has answered in time, which
 * is recorded as an answer; then it is read again.
 *
 * Those who begin runs take turns (ADR 77). A slot is a byte: what runs hold in memory is bounded
 * by --body-memory-mib, apart from the bodies of requests. A run that waits, for its turn or for
 * room in the queue, is a few names; its state is read from Redis when it continues. */
#include "services/workflow/run/run.h"

#include "shared/base/mem.h"
#include "shared/base/sm.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    RUN_BYTES = 16 << 10,     /* besides its messageBody */
    UNREAD_BYTES = 256 << 10, /* of one that has not been read: then it is weighed */
    CROWDED_MAX = 2000,
    CROWDED_AGAIN_MS = 5000 /* after which another node may try one for which there is no place */
};

static struct run *run_of(struct fair_entry *entry)
{
    return container_of(entry, struct run, entry);
}

static struct loop *loop_of(const struct run *run)
{
    return run->runs->workflow->server->loop;
}

/* Counts of all nodes of the process. */
static _Atomic int64_t state_counts[RUN_ENDED + 1], held_bytes;

/* --- states ----------------------------------------------------------------------------------- */

static const struct sm_state states[] = {
    [RUN_WAITING] = {"WAITING",
                     SM(RUN_LOADING) | SM(RUN_WORKING) | SM(RUN_STORING) | SM(RUN_ENDED)},
    [RUN_CROWDED] = {"CROWDED", SM(RUN_WAITING) | SM(RUN_ENDED)},
    [RUN_LOADING] = {"LOADING", SM(RUN_WAITING) | SM(RUN_READING) | SM(RUN_CLOSING) |
                                    SM(RUN_WORKING) | SM(RUN_STORING) | SM(RUN_ENDED)},
    [RUN_READING] = {"READING", SM(RUN_WAITING) | SM(RUN_CLOSING) | SM(RUN_WORKING) |
                                    SM(RUN_STORING) | SM(RUN_ENDED)},
    [RUN_CLOSING] = {"CLOSING", SM(RUN_ENDED)},
    [RUN_WORKING] = {"WORKING",
                     SM(RUN_WORKING) | SM(RUN_CROWDED) | SM(RUN_STORING) | SM(RUN_ENDED)},
    [RUN_STORING] = {"STORING", SM(RUN_WORKING) | SM(RUN_ENDED)},
    [RUN_ENDED] = {"ENDED", 0},
};
static const struct sm sm = SM_OF("run", states);

static void count(enum run_state state, int delta)
{
    atomic_fetch_add(&state_counts[state], delta);
}

void run_move(struct run *run, enum run_state to)
{
    count(run->state, -1);
    run->state = sm_move(&sm, run->number, run->state, to);
    count(run->state, 1);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void count_bytes(struct runs *runs)
{
    uint64_t held = fair_slots_held(runs->turns);
    atomic_fetch_add(&held_bytes, (int64_t)held - (int64_t)runs->counted_bytes);
    runs->counted_bytes = held;
}

/* As many run at a time as RUNS_MAX, however small they are. */
static uint64_t cost_of(const struct runs *runs, uint64_t bytes)
{
    uint64_t least = runs->memory_bytes / RUNS_MAX;
    return bytes > least ? bytes : least;
}

void run_weigh(struct run *run)
{
    run->bytes =
        RUN_BYTES + json_memory(run->body) + json_memory(run->asked) + json_memory(run->answers);
    fair_slots_resize(&run->entry, cost_of(run->runs, run->bytes));
    count_bytes(run->runs);
}

bool run_fits(struct run *run)
{
    struct runs *runs = run->runs;
    if (!run->entry.has_slot)
        return true;
    run_weigh(run);
    uint64_t held = fair_slots_held(runs->turns);
    if (held <= runs->memory_bytes || held == run->entry.cost)
        return true;
    fair_slots_leave(runs->turns, &run->entry);
    run_wait_for_turn(run);
    return false;
}

/* Who it is, and how far its attempts have come, stays. */
static void forget(struct run *run)
{
    char **texts[] = {&run->user,  &run->session_id, &run->request_id, &run->verb,
                      &run->verbs, &run->version,    &run->agent_name, &run->question_status};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        free(*texts[i]);
        *texts[i] = NULL;
    }
    trees_unref(run->trees);
    json_decref(run->body);
    json_decref(run->asked);
    json_decref(run->answers);
    run->trees = NULL;
    run->node = NULL;
    run->agent = NULL;
    run->body = run->asked = run->answers = NULL;
}

/* --- turns ------------------------------------------------------------------------------------ */

void runs_fill(struct runs *runs)
{
    struct fair_entry *entry;
    if (runs->is_filling)
        return;
    runs->is_filling = true;
    while ((entry = fair_slots_next(runs->turns)) != NULL)
        runs->go_on(run_of(entry));
    while ((entry = fair_slots_surplus(runs->turns)) != NULL)
        lease_give_back(&run_of(entry)->lease, 0);
    runs->is_filling = false;
    count_bytes(runs);
}

void run_wait_for_turn(struct run *run)
{
    struct runs *runs = run->runs;
    const struct fair_owner owner = {str_of(run->account), str_of(run->user_name), run->session};
    if (run->state != RUN_WAITING)
        run_move(run, RUN_WAITING);
    fair_slots_wait(runs->turns, &run->entry, &owner,
                    cost_of(runs, run->bytes > 0 ? run->bytes : UNREAD_BYTES));
    if (run->body == NULL || fair_slots_waiting(runs->turns) > 1 ||
        fair_slots_held(runs->turns) + run->entry.cost > runs->memory_bytes)
        forget(run);
    runs_fill(runs);
}

/* Neither for its turn nor for room does it wait any more. */
static void leave_turn(struct run *run)
{
    run->runs->crowded_n -= run->state == RUN_CROWDED;
    vacancy_wait_cancel(&run->vacancy);
    fair_slots_leave(run->runs->turns, &run->entry);
}

/* --- room in the queue ------------------------------------------------------------------------ */

static void on_vacancy(struct vacancy_wait *wait)
{
    struct run *run = container_of(wait, struct run, vacancy);
    run->runs->crowded_n--;
    run_wait_for_turn(run);
}

static void on_late(struct deadline *deadline)
{
    struct run *run = container_of(deadline, struct run, deadline);
    run->is_late = true;
    if (run->state != RUN_CROWDED)
        return;
    vacancy_wait_cancel(&run->vacancy);
    on_vacancy(&run->vacancy);
}

static void set_model(struct run *run)
{
    struct str model = run->agent->model;
    struct buf name = {.at = run->model, .cap = sizeof run->model, .max = sizeof run->model};
    buf_put_name(&name, model.n > 0 ? model : STR("default"));
    run->vacancy.model = buf_str(&name);
}

void run_wait_for_vacancy(struct run *run, const struct agent_result *result)
{
    struct runs *runs = run->runs;
    uint64_t now_ms = clock_mono_ms();
    run_move(run, RUN_CROWDED);
    if (runs->crowded_n++ >= CROWDED_MAX) {
        lease_give_back(&run->lease, CROWDED_AGAIN_MS);
        return;
    }
    set_model(run);
    run->is_again = true;
    run->vacancy.account = str_of(run->account);
    run->vacancy.user = str_of(run->user_name);
    run->vacancy.max_waiting = run->task.max_waiting;
    run->vacancy.shard = result->shard;
    run->vacancy.needs_engine = result->needs_engine;
    run->vacancy.on_vacancy = on_vacancy;
    run->deadline.on_expire = on_late;
    loop_set_deadline(loop_of(run), &run->deadline,
                      run->until_ms > now_ms ? run->until_ms - now_ms : 0);
    fair_slots_leave(runs->turns, &run->entry);
    forget(run);
    vacancy_wait_start(runs->workflow->queue, &run->vacancy);
    runs_fill(runs);
}

/* --- metrics ---------------------------------------------------------------------------------- */

void runs_put_metrics(struct buf *b)
{
    int64_t driven = 0;
    for (unsigned i = 0; i < RUN_ENDED; i++)
        driven += i == RUN_WAITING || i == RUN_CROWDED ? 0 : atomic_load(&state_counts[i]);
    buf_printf(b,
               "# HELP parley_workflow_runs Runs of workflows that this process holds: driven; "
               "waiting for their turn; crowded: waiting for room in the queue\n"
               "# TYPE parley_workflow_runs gauge\n"
               "parley_workflow_runs{state=\"driven\"} %lld\n"
               "parley_workflow_runs{state=\"waiting\"} %lld\n"
               "parley_workflow_runs{state=\"crowded\"} %lld\n",
               (long long)driven, (long long)atomic_load(&state_counts[RUN_WAITING]),
               (long long)atomic_load(&state_counts[RUN_CROWDED]));
    buf_printf(b,
               "# HELP parley_workflow_run_bytes Memory of runs that are driven\n"
               "# TYPE parley_workflow_run_bytes gauge\n"
               "parley_workflow_run_bytes %lld\n",
               (long long)atomic_load(&held_bytes));
}

/* --- life ------------------------------------------------------------------------------------- */

struct run *run_create(struct runs *runs, struct str session, uint64_t n, uint64_t fence,
                       enum run_state state)
{
    char id[LEASE_ID_MAX_BYTES + 1];
    struct run *run = mem_zeroed(sizeof *run);
    *run = (struct run){.runs = runs, .state = state, .number = sm_number(), .n = n};
    count(state, 1);
    snprintf(id, sizeof id, "%.*s.%llu", STR_ARG(session), (unsigned long long)n);
    lease_hold(&runs->leases, &run->lease, str_of(id), fence);
    run->session = lease_home(&run->lease);
    return run;
}

void run_stop_agent(struct run *run, bool is_final)
{
    loop_cancel_deadline(run->runs->workflow->server->loop, &run->deadline);
    if (run->running != NULL)
        run->kind->cancel(run->running, is_final);
    run->running = NULL;
}

void run_drop(struct run *run, bool is_final)
{
    struct runs *runs = run->runs;
    run_stop_agent(run, is_final);
    leave_turn(run);
    run_move(run, RUN_ENDED);
    call_detach(&run->call);
    lease_let_go(&run->lease);
    forget(run);
    free(run->account);
    free(run->user_name);
    free(run->traceparent);
    free(run);
    runs_fill(runs);
}

void turns_init(struct runs *runs)
{
    size_t most = runs->workflow->server->config->wire.body_memory_bytes;
    runs->memory_bytes = most > 0 ? most : UINT64_MAX / 2;
    runs->turns = fair_slots_create(
        &(struct fair_slots_config){.slot_n = runs->memory_bytes, .waiting_max = RUNS_WAITING_MAX});
}

void turns_fini(struct runs *runs)
{
    count_bytes(runs);
    fair_slots_destroy(runs->turns);
}
