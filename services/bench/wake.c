/* SPDX-License-Identifier: MIT
 * wake.c - the time from an event until a blocked consumer has it.
 *
 *   wake       the consumer is an engine, blocked in get-new-queries; the producer adds a query
 *   wakecheck  the consumer is a frontend, blocked in check-query; the producer answers the query
 *
 * The producer acts after a random pause, so that the consumer is surely parked and no timer of
 * either side is in step with us. A sample runs from the producer's send to the moment the consumer
 * has the whole response (and, apart, from the moment the producer has its own). With two nodes the
 * frontend talks to the first and the engine to the second, so that the wake crosses the cluster.
 *
 * wake:       claim(C) ... pause, add(P) -> both responses -> answer(C) -> claim(C) ...
 * wakecheck:  add(C) -> claim(P) -> check(C) ... pause, answer(P) -> both responses -> add(C) ...
 *
 * A sample during which a request was lost or refused is thrown away, and so is the first second.
 */
#include "services/bench/worker.h"

#include "shared/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARM_UP_US = 1000000, PAUSE_MIN_US = 20000, PAUSE_MAX_US = 120000, SLICE_US = 250000 };
enum { SAMPLE_LIMIT_US = 1000000, EXTRA_US = 10000000 };

struct wake_run {
    const struct bench *bench;
    enum bench_mode mode;
    struct bench_conn_loop loop;
    struct bench_worker consumer, producer;
    uint64_t begun_us, sent_us, got_us, returned_us; /* 0: not yet */
    bool is_armed, is_spoiled;
    bool is_added, is_claimed; /* wakecheck: how far the sample's first two steps are */
    struct bench_wake_result *result;
};

static bool is_done(const struct wake_run *run)
{
    return run->result->since_sent.n >= run->bench->samples;
}

static void arm(struct wake_run *run)
{
    if (is_done(run)) {
        run->loop.is_stopped = true;
        return;
    }
    uint64_t pause_us = PAUSE_MIN_US + (uint64_t)random() % (PAUSE_MAX_US - PAUSE_MIN_US);
    run->sent_us = run->got_us = run->returned_us = 0;
    run->is_armed = true;
    run->is_spoiled = false;
    bench_conn_again_after(&run->producer.conn, pause_us);
}

/* wakecheck: the first step of a sample. The producer may still be busy with the last one. */
static void begin_check(struct wake_run *run)
{
    run->is_added = run->is_claimed = false;
    if (is_done(run))
        run->loop.is_stopped = true;
    else
        bench_worker_add(&run->consumer);
}

/* wakecheck: once the query is added and claimed (the two responses may come in either order), the
 * consumer blocks and the producer's pause begins. */
static void try_block(struct wake_run *run)
{
    if (!run->is_added || !run->is_claimed)
        return;
    bench_worker_check(&run->consumer);
    arm(run);
}

static void start_over(struct wake_run *run, struct bench_worker *worker)
{
    run->is_spoiled = true;
    if (run->mode == BENCH_WAKE && worker == &run->consumer) {
        bool was_last_step = run->got_us != 0 && run->returned_us != 0;
        bench_worker_claim(worker);
        if (was_last_step)
            arm(run);
    } else if (run->mode == BENCH_WAKE) {
        arm(run);
    } else if (worker == &run->consumer) {
        begin_check(run);
    } else {
        bench_worker_claim(worker);
    }
}

/* Both sides have what they waited for: keep the sample and prepare the next. */
static void try_finish(struct wake_run *run)
{
    if (run->got_us == 0 || run->returned_us == 0)
        return;
    if (!run->is_spoiled && run->got_us - run->begun_us > WARM_UP_US) {
        bench_samples_put(&run->result->since_sent, (int64_t)(run->got_us - run->sent_us));
        bench_samples_put(&run->result->since_returned,
                          (int64_t)run->got_us - (int64_t)run->returned_us);
    }
    if (run->mode == BENCH_WAKE)
        bench_worker_answer(&run->consumer);
    else
        begin_check(run);
}

static bool is_sample(const struct wake_run *run, struct bench_worker *engine)
{
    const struct bench_worker *frontend = run->mode == BENCH_WAKE ? &run->producer : &run->consumer;
    return bench_worker_owns_claim(engine) && strcmp(engine->topic, frontend->topic) == 0;
}

static void on_claimed(struct wake_run *run, struct bench_worker *engine, struct str body,
                       uint64_t now_us)
{
    if (!bench_worker_take_claim(engine, body)) {
        run->result->faults.empties++;
        bench_worker_claim(engine);
    } else if (!is_sample(run, engine)) {
        bench_worker_answer(engine); /* somebody else's: out of the way */
    } else if (run->mode == BENCH_WAKE) {
        run->got_us = now_us;
        try_finish(run);
    } else {
        run->is_claimed = true;
        try_block(run);
    }
}

static void on_answered(struct wake_run *run, struct bench_worker *engine, uint64_t now_us)
{
    bool was_sample = is_sample(run, engine);
    if (bench_worker_next_row(engine)) {
        bench_worker_answer(engine);
    } else if (run->mode == BENCH_WAKE) {
        bench_worker_claim(engine);
        if (was_sample)
            arm(run);
    } else if (was_sample) {
        run->returned_us = now_us;
        try_finish(run);
    } else {
        bench_worker_claim(engine);
    }
}

static void on_added(struct wake_run *run, struct bench_worker *frontend, struct str body,
                     uint64_t now_us)
{
    if (!bench_worker_take_added(frontend, body)) {
        run->result->faults.errors++;
        start_over(run, frontend);
    } else if (run->mode == BENCH_WAKE) {
        run->returned_us = now_us;
        try_finish(run);
    } else {
        const struct bench_conn *producer = &run->producer.conn;
        run->is_added = true;
        if (!run->is_claimed && !producer->is_waiting && !list_is_linked(&producer->delayed))
            bench_worker_claim(&run->producer);
        try_block(run);
    }
}

static void on_checked(struct wake_run *run, struct bench_worker *frontend, struct str body,
                       uint64_t now_us)
{
    if (bench_body_has_answer(body)) {
        run->got_us = now_us;
        try_finish(run);
    } else {
        run->result->faults.empties++;
        run->is_spoiled = true;
        bench_worker_check(frontend);
    }
}

static void on_response(struct bench_conn *conn, const struct bench_response *response)
{
    uint64_t now_us = clock_mono_us();
    struct bench_worker *worker = (struct bench_worker *)conn;
    struct wake_run *run = worker->owner;
    switch (bench_worker_judge(worker, response, &run->result->faults)) {
    case BENCH_GOOD: break;
    case BENCH_ABANDON: start_over(run, worker); return;
    case BENCH_AGAIN: run->is_spoiled = true; return;
    case BENCH_FATAL: return;
    }
    switch (worker->step) {
    case BENCH_STEP_ADD: on_added(run, worker, response->body, now_us); break;
    case BENCH_STEP_CLAIM: on_claimed(run, worker, response->body, now_us); break;
    case BENCH_STEP_ANSWER: on_answered(run, worker, now_us); break;
    case BENCH_STEP_CHECK: on_checked(run, worker, response->body, now_us); break;
    case BENCH_STEP_PARTIAL:
    case BENCH_STEP_STREAM: /* of mode tokens */
    case BENCH_STEP_SOCKET: break;
    }
}

/* The producer's pause is over, or a request of either side was lost. */
static void on_again(struct bench_conn *conn)
{
    struct bench_worker *worker = (struct bench_worker *)conn;
    struct wake_run *run = worker->owner;
    if (worker != &run->producer || !run->is_armed) {
        run->is_spoiled = true;
        bench_worker_repeat(worker);
        return;
    }
    run->is_armed = false;
    run->sent_us = clock_mono_us();
    if (run->mode == BENCH_WAKE)
        bench_worker_add(worker);
    else
        bench_worker_answer(worker);
}

static const struct bench_conn_handler handler = {.on_response = on_response, .on_again = on_again};

static void measure(struct wake_run *run)
{
    uint64_t limit_us = WARM_UP_US + EXTRA_US + (uint64_t)run->bench->samples * SAMPLE_LIMIT_US;
    run->begun_us = clock_mono_us();
    if (run->mode == BENCH_WAKE) {
        bench_worker_claim(&run->consumer);
        arm(run);
    } else {
        begin_check(run);
    }
    for (uint64_t now_us = run->begun_us;
         !run->loop.is_stopped && now_us < run->begun_us + limit_us; now_us = clock_mono_us()) {
        bench_conn_loop_run(&run->loop, now_us + SLICE_US);
        bench_show_progress(run->bench, "%s: %zu of %llu %s",
                            run->mode == BENCH_WAKE ? "wake" : "wakecheck",
                            run->result->since_sent.n, COUNTED(run->bench->samples, "sample"));
    }
}

bool bench_wake_run(const struct bench *bench, enum bench_mode mode,
                    struct bench_wake_result *ret_result)
{
    *ret_result = (struct bench_wake_result){0};
    struct wake_run run = {.bench = bench, .mode = mode, .result = ret_result};
    if (!bench_conn_loop_init(&run.loop)) {
        fprintf(stderr, "parley: cannot create an event loop: %s\n", strerror(errno));
        return false;
    }
    const struct bench_target *first = &bench->targets[0];
    const struct bench_target *second = &bench->targets[1 % bench->target_n];
    bench_worker_init(&run.consumer, bench, &run, &run.loop, mode == BENCH_WAKE ? second : first,
                      &handler);
    bench_worker_init(&run.producer, bench, &run, &run.loop, mode == BENCH_WAKE ? first : second,
                      &handler);
    measure(&run);
    bench_faults_finish(&ret_result->faults, &run.loop);
    bench_samples_sort(&ret_result->since_sent);
    bench_samples_sort(&ret_result->since_returned);
    bench_worker_fini(&run.consumer);
    bench_worker_fini(&run.producer);
    bench_conn_loop_fini(&run.loop);
    return true;
}
