/* SPDX-License-Identifier: MIT
 * cycle.c - full cycles per second: add, claim, answer, check, all of them signed requests.
 *
 *   split    a frontend connection:  add -> check (held until there is an answer) -> add ...
 *            an engine connection:   claim (held until there is work) -> answer -> claim ...
 *   inline   one connection does it all: add -> claim -> answer -> check what it claimed; there is
 *            always work and always an answer, so nothing is held
 *   compact  a frontend connection:  add and wait in one request -> the next one ...
 *            an engine connection:   answer, whose response has the next claim -> answer ...
 *            whose engines wait with that for work: two requests
 *
 * With engine sockets, engines of the first and the last send no requests: a node sends them claims
 * and gets the answers as frames, over one WebSocket for many of them.
 *
 * `conns` cycles are under way at any time; with a `rate`, at most that many, one begun every
 * 1/rate seconds. A cycle that is due while all frontends are busy begins when one is free, and its
 * time counts from when it was due: the time that it waited is the nodes' doing.
 *
 * The first second warms up; then counters are taken at both ends of the measured time; then no
 * cycle is begun any more and those under way are finished, so that a run leaves no open query
 * behind. A cycle counts when its answer arrives within the measured time. Topics are new for every
 * cycle.
 */
#include "services/bench/report.h"
#include "services/bench/socket.h"

#include "shared/base/clock.h"
#include "shared/base/mem.h"

#include <errno.h>
#include <stdio.h>

enum { WARM_UP_US = 1000000, DRAIN_US = 5000000, SLICE_US = 250000 };

struct cycle_run {
    const struct bench *bench;
    enum bench_mode mode;
    struct bench_conn_loop loop;
    struct bench_worker *workers; /* frontends first */
    size_t worker_n, busy_n;      /* busy: frontends with a cycle under way */
    struct bench_socket *sockets; /* of engines, instead of workers */
    size_t socket_n;
    struct bench_worker *resting, **resting_end; /* with a rate: the other frontends, in turn */
    uint64_t first_due_us, begun_n;              /* with a rate: cycle K is due K/rate after that */
    uint64_t cycles;
    bool is_counting, is_draining;
    struct bench_cycle_result *result;
};

static bool is_engine(const struct cycle_run *run, const struct bench_worker *worker)
{
    return (size_t)(worker - run->workers) >= run->bench->conns;
}

static size_t count_engines(const struct bench *bench, enum bench_mode mode)
{
    return mode == BENCH_SPLIT || mode == BENCH_COMPACT ? bench->engines : 0;
}

static size_t count_sockets(const struct bench *bench, enum bench_mode mode)
{
    return (count_engines(bench, mode) + bench->slots - 1) / bench->slots;
}

static uint64_t next_due_us(const struct cycle_run *run)
{
    return run->first_due_us + run->begun_n * 1000000 / run->bench->rate;
}

static void begin_cycle(struct cycle_run *run, struct bench_worker *worker)
{
    run->busy_n++;
    bench_worker_add(worker);
    if (run->bench->rate > 0)
        worker->begun_us = next_due_us(run);
    run->begun_n++;
}

static void rest(struct cycle_run *run, struct bench_worker *worker)
{
    worker->next_resting = NULL;
    *run->resting_end = worker;
    run->resting_end = &worker->next_resting;
}

/* Begins the cycles that are due, as far as there are frontends for them. Returns when to look
 * again. Only with a rate. */
static uint64_t begin_due(struct cycle_run *run, uint64_t until_us)
{
    while (run->resting != NULL && !run->is_draining) {
        struct bench_worker *worker = run->resting;
        uint64_t due_us = next_due_us(run);
        if (due_us > clock_mono_us())
            return due_us < until_us ? due_us : until_us;
        run->resting = worker->next_resting;
        if (run->resting == NULL)
            run->resting_end = &run->resting;
        begin_cycle(run, worker);
    }
    return until_us;
}

/* The frontend's cycle has ended: it begins the next one, or rests until one is due or the time is
 * up. */
static void end_cycle(struct cycle_run *run, struct bench_worker *worker)
{
    run->busy_n--;
    if (run->is_draining) {
        run->loop.is_stopped = run->busy_n == 0;
    } else if (run->bench->rate == 0) {
        begin_cycle(run, worker);
    } else {
        rest(run, worker);
        begin_due(run, 0);
    }
}

static void start_over(struct cycle_run *run, struct bench_worker *worker)
{
    if (is_engine(run, worker))
        bench_worker_claim(worker);
    else
        end_cycle(run, worker);
}

static void finish_cycle(struct cycle_run *run, struct bench_worker *worker)
{
    run->cycles++;
    if (run->is_counting)
        bench_samples_put(&run->result->latency, (int64_t)(clock_mono_us() - worker->begun_us));
    end_cycle(run, worker);
}

static void on_claimed(struct cycle_run *run, struct bench_worker *worker, struct str claim)
{
    if (bench_worker_take_claim(worker, claim)) {
        bench_worker_answer(worker);
    } else {
        run->result->faults.empties++;
        bench_worker_claim(worker);
    }
}

static void on_answered(struct cycle_run *run, struct bench_worker *worker, struct str body)
{
    struct str next;
    if (bench_worker_next_row(worker))
        bench_worker_answer(worker);
    else if (!is_engine(run, worker) && bench_worker_owns_claim(worker))
        bench_worker_check(worker);
    else if ((worker->wants_next || worker->waits_for_next) &&
             bench_json_member(body, STR("Next"), &next) && bench_worker_take_claim(worker, next))
        bench_worker_answer(worker);
    else
        bench_worker_claim(worker);
}

/* It waited for its answer, too, in mode compact; when that has not come in time it is checked for.
 */
static void on_added(struct cycle_run *run, struct bench_worker *worker, struct str body)
{
    if (run->mode == BENCH_COMPACT && bench_body_has_answer(body)) {
        finish_cycle(run, worker);
    } else if (!bench_worker_take_added(worker, body)) {
        run->result->faults.errors++;
        start_over(run, worker);
    } else if (run->mode == BENCH_INLINE) {
        bench_worker_claim(worker);
    } else {
        run->result->faults.empties += run->mode == BENCH_COMPACT;
        bench_worker_check(worker);
    }
}

static void on_response(struct bench_conn *conn, const struct bench_response *response)
{
    struct bench_worker *worker = (struct bench_worker *)conn;
    struct cycle_run *run = worker->owner;
    switch (bench_worker_judge(worker, response, &run->result->faults)) {
    case BENCH_GOOD: break;
    case BENCH_ABANDON: start_over(run, worker); return;
    case BENCH_AGAIN:
    case BENCH_FATAL: return;
    }
    switch (worker->step) {
    case BENCH_STEP_ADD: on_added(run, worker, response->body); break;
    case BENCH_STEP_CLAIM: on_claimed(run, worker, response->body); break;
    case BENCH_STEP_ANSWER: on_answered(run, worker, response->body); break;
    case BENCH_STEP_PARTIAL:
    case BENCH_STEP_STREAM: /* of mode tokens */
    case BENCH_STEP_SOCKET: break;
    case BENCH_STEP_CHECK:
        if (bench_body_has_answer(response->body)) {
            finish_cycle(run, worker);
        } else {
            run->result->faults.empties++;
            bench_worker_check(worker);
        }
        break;
    }
}

static void on_again(struct bench_conn *conn)
{
    bench_worker_repeat((struct bench_worker *)conn);
}

static const struct bench_conn_handler handler = {.on_response = on_response, .on_again = on_again};

/* --- engines at sockets ----------------------------------------------------------------------- */

static void on_socket_claim(struct bench_socket *socket, struct str json)
{
    if (bench_worker_take_claim(&socket->worker, json))
        bench_socket_answer_all(socket);
    else
        bench_fault(socket->faults, "a claim without a query");
}

static void start_sockets(struct cycle_run *run)
{
    static const struct bench_socket_events events = {.on_claim = on_socket_claim};
    const struct bench *bench = run->bench;
    size_t left = count_engines(bench, run->mode);
    for (size_t i = 0; i < run->socket_n; i++) {
        size_t slots = left < bench->slots ? left : bench->slots;
        left -= slots;
        bench_socket_init(&run->sockets[i], bench, run, &run->loop,
                          &bench->targets[i % bench->target_n], (unsigned)slots, &events,
                          &run->result->faults);
        bench_socket_open(&run->sockets[i]);
    }
}

/* --- the run ---------------------------------------------------------------------------------- */

static void run_for(struct cycle_run *run, uint64_t duration_us, const char *what)
{
    uint64_t now_us = clock_mono_us(), end_us = now_us + duration_us, slice_us = now_us;
    while (now_us < end_us && !run->loop.is_stopped) {
        if (now_us >= slice_us) {
            bench_show_progress(run->bench, "%s: %s, %llu %s, %llu %s", bench_mode_name(run->mode),
                                what, COUNTED(run->cycles, "cycle"),
                                COUNTED(run->result->faults.errors, "error"));
            slice_us = now_us + SLICE_US < end_us ? now_us + SLICE_US : end_us;
        }
        bench_conn_loop_run(&run->loop, begin_due(run, slice_us));
        now_us = clock_mono_us();
    }
}

static void start_workers(struct cycle_run *run)
{
    const struct bench *bench = run->bench;
    run->resting_end = &run->resting;
    for (size_t i = 0; i < run->worker_n; i++) {
        struct bench_worker *worker = &run->workers[i];
        bench_worker_init(worker, bench, run, &run->loop, &bench->targets[i % bench->target_n],
                          &handler);
        worker->user = (unsigned)(i % bench->users);
        worker->waits_for_answer = run->mode == BENCH_COMPACT;
        worker->waits_for_next = is_engine(run, worker) && run->mode == BENCH_COMPACT;
        worker->wants_next = is_engine(run, worker) && bench->is_next;
    }
    start_sockets(run);
    /* Engines first, so that they wait before there is work. */
    for (size_t i = run->worker_n; i-- > 0;) {
        struct bench_worker *worker = &run->workers[i];
        if (is_engine(run, worker))
            bench_worker_claim(worker);
        else if (bench->rate > 0)
            rest(run, worker);
        else
            begin_cycle(run, worker);
    }
    run->first_due_us = clock_mono_us();
}

static void measure(struct cycle_run *run)
{
    struct bench_cycle_result *result = run->result;
    run_for(run, WARM_UP_US, "warming up");
    run->is_counting = true;
    uint64_t begun_us = clock_mono_us(), cycles = run->cycles, requests = run->loop.sent_n;
    double node_s = bench_proc_cpu_s(&run->bench->nodes);
    double redis_s = bench_proc_cpu_s(&run->bench->redis);
    double client_s = bench_proc_own_cpu_s();
    run_for(run, (uint64_t)run->bench->seconds * 1000000u, "measuring");
    run->is_counting = false;
    result->elapsed_us = clock_mono_us() - begun_us;
    result->cycles = run->cycles - cycles;
    result->requests = run->loop.sent_n - requests;
    result->node_cpu_s = bench_proc_spent_s(&run->bench->nodes, node_s);
    result->redis_cpu_s = bench_proc_spent_s(&run->bench->redis, redis_s);
    result->client_cpu_s = bench_proc_own_cpu_s() - client_s;
    run->is_draining = true;
    run->loop.is_stopped = run->loop.is_stopped || run->busy_n == 0;
    run_for(run, DRAIN_US, "finishing");
    result->unfinished = run->loop.is_stopped ? 0 : run->busy_n; /* stopped: done, or given up */
}

bool bench_cycle_run(const struct bench *bench, enum bench_mode mode,
                     struct bench_cycle_result *ret_result)
{
    *ret_result = (struct bench_cycle_result){0};
    struct cycle_run run = {.bench = bench, .mode = mode, .result = ret_result};
    if (bench->has_engine_sockets)
        run.socket_n = count_sockets(bench, mode);
    run.worker_n = bench->conns + (run.socket_n > 0 ? 0 : count_engines(bench, mode));
    if (!bench_conn_loop_init(&run.loop)) {
        fprintf(stderr, "parley: cannot create an event loop: %s\n", strerror(errno));
        return false;
    }
    run.workers = mem_zeroed_n(run.worker_n, sizeof *run.workers);
    run.sockets = mem_zeroed_n(run.socket_n, sizeof *run.sockets);
    start_workers(&run);
    measure(&run);
    bench_faults_finish(&ret_result->faults, &run.loop);
    bench_samples_sort(&ret_result->latency);
    for (size_t i = 0; i < run.worker_n; i++)
        bench_worker_fini(&run.workers[i]);
    for (size_t i = 0; i < run.socket_n; i++)
        bench_socket_fini(&run.sockets[i]);
    free(run.sockets);
    free(run.workers);
    bench_conn_loop_fini(&run.loop);
    return true;
}
