/* SPDX-License-Identifier: MIT
 * idle.c - measures a parked poll: memory of the node (and of Redis), and processor time while
 * nothing happens.
 *
 * It opens many engine connections that each poll for work, waits until the node has come to rest,
 * and compares the resident memory with what it was before. The queue has to be empty, or the first
 * polls get what is in it. One address of a machine has about 28,000 ports to connect from, so a
 * loopback target is reached from several: 8,000 polls from 127.0.1.2, the next from 127.0.1.3, and
 * so on. Memory counts from a node as it stands: one that has served load before has free memory
 * to hand, and then seems to need less.
 */
#include "services/bench/worker.h"

#include "shared/base/clock.h"

#include "shared/base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

enum { POLLS_PER_ADDRESS = 8000, FIRST_SOURCE = 0x7f000102, OPENING_MAX = 256, WAIT_S = 120 };
enum { OPEN_LIMIT_US = 60000000, IDLE_LIMIT_US = 15000000, SLICE_US = 500000, STEP_US = 2000 };

/* Less than this share of a core is rest. */
static const double REST_CPU = 0.02;

struct idle_run {
    const struct bench *bench;
    struct bench_conn_loop loop;
    struct bench_worker *workers;
    struct bench_idle_result *result;
};

static void on_response(struct bench_conn *conn, const struct bench_response *response)
{
    struct bench_worker *worker = (struct bench_worker *)conn;
    struct idle_run *run = worker->owner;
    if (bench_worker_judge(worker, response, &run->result->faults) != BENCH_GOOD ||
        worker->step != BENCH_STEP_CLAIM)
        return;
    /* It was not to be answered; but work that was in the queue is given back. */
    if (bench_worker_take_claim(worker, response->body))
        bench_worker_answer(worker);
    else
        run->result->faults.empties++;
}

static void on_again(struct bench_conn *conn)
{
    bench_worker_repeat((struct bench_worker *)conn);
}

static const struct bench_conn_handler handler = {.on_response = on_response, .on_again = on_again};

/* Not all at once: a node's backlog of connections is limited. */
static void open_polls(struct idle_run *run)
{
    const struct bench *bench = run->bench;
    uint64_t now_us = clock_mono_us(), end_us = now_us + OPEN_LIMIT_US;
    size_t begun = 0;
    while (run->loop.sent_n < bench->idle_n && now_us < end_us && !run->loop.is_stopped) {
        for (; begun < bench->idle_n && begun < run->loop.sent_n + OPENING_MAX; begun++)
            bench_worker_claim(&run->workers[begun]);
        bench_conn_loop_run(&run->loop, now_us + STEP_US);
        now_us = clock_mono_us();
        bench_show_progress(bench, "idle: %llu of %llu %s open",
                            (unsigned long long)run->loop.sent_n, COUNTED(bench->idle_n, "poll"));
    }
}

/* Turns until the node's processes rest. */
static void wait_until_idle(struct idle_run *run)
{
    uint64_t now_us = clock_mono_us(), end_us = now_us + IDLE_LIMIT_US;
    double last_s = bench_proc_cpu_s(&run->bench->nodes), next_s, share = 1;
    while (now_us < end_us && share > REST_CPU && !run->loop.is_stopped) {
        bench_conn_loop_run(&run->loop, now_us + SLICE_US);
        next_s = bench_proc_cpu_s(&run->bench->nodes);
        share = (next_s - last_s) * 1e6 / SLICE_US;
        last_s = next_s;
        now_us = clock_mono_us();
        bench_show_progress(run->bench, "idle: %llu %s open, waiting until the node is idle",
                            COUNTED(run->loop.sent_n, "poll"));
    }
}

static void measure(struct idle_run *run)
{
    const struct bench *bench = run->bench;
    struct bench_idle_result *result = run->result;
    wait_until_idle(run);
    result->node_before_bytes = bench_proc_resident_bytes(&bench->nodes);
    result->redis_before_bytes = bench_proc_resident_bytes(&bench->redis);
    open_polls(run);
    wait_until_idle(run);
    result->node_after_bytes = bench_proc_resident_bytes(&bench->nodes);
    result->redis_after_bytes = bench_proc_resident_bytes(&bench->redis);
    uint64_t begun_us = clock_mono_us();
    double node_s = bench_proc_cpu_s(&bench->nodes), redis_s = bench_proc_cpu_s(&bench->redis);
    bench_show_progress(bench, "idle: %llu %s open, measuring for %u s",
                        COUNTED(run->loop.sent_n, "poll"), bench->seconds);
    bench_conn_loop_run(&run->loop, begun_us + (uint64_t)bench->seconds * 1000000u);
    result->elapsed_us = clock_mono_us() - begun_us;
    result->node_cpu_s = bench_proc_spent_s(&bench->nodes, node_s);
    result->redis_cpu_s = bench_proc_spent_s(&bench->redis, redis_s);
    for (size_t i = 0; i < bench->idle_n; i++) {
        const struct bench_worker *worker = &run->workers[i];
        result->parked += worker->conn.is_waiting && !worker->conn.is_connecting &&
                          worker->step == BENCH_STEP_CLAIM;
    }
}

bool bench_idle_run(const struct bench *bench, struct bench_idle_result *ret_result)
{
    *ret_result = (struct bench_idle_result){.asked = bench->idle_n};
    struct idle_run run = {.bench = bench, .result = ret_result};
    if (!bench_conn_raise_limit(bench->idle_n, "parked polls", "--idle"))
        return false;
    if (!bench_conn_loop_init(&run.loop)) {
        fprintf(stderr, "parley: cannot create an event loop: %s\n", strerror(errno));
        return false;
    }
    run.workers = mem_zeroed_n(bench->idle_n, sizeof *run.workers);
    for (size_t i = 0; i < bench->idle_n; i++) {
        struct bench_worker *worker = &run.workers[i];
        const struct bench_target *target = &bench->targets[i % bench->target_n];
        bench_worker_init(worker, bench, &run, &run.loop, target, &handler);
        worker->wait_s = WAIT_S;
        if (target->is_loopback)
            worker->conn.source = htonl((in_addr_t)(FIRST_SOURCE + i / POLLS_PER_ADDRESS));
    }
    measure(&run);
    bench_faults_finish(&ret_result->faults, &run.loop);
    for (size_t i = 0; i < bench->idle_n; i++)
        bench_worker_fini(&run.workers[i]);
    free(run.workers);
    bench_conn_loop_fini(&run.loop);
    return true;
}
