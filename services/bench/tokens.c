/* SPDX-License-Identifier: MIT
 * tokens.c - answers that are shown while they are written: what a token costs, and how long it
 * takes from its engine to a client that follows the answer.
 *
 *   a writer:  add -> claim -> piece ... piece -> answer, at the first node; the last three by
 *              requests of its own, or as frames over the socket of an engine with many writers
 *   a viewer:  check as a stream of events, at the other nodes in turn
 *
 * First all questions are added and claimed and all viewers have their streams. Then piece K of all
 * streams together is due K/rate after the first, in turn, so each stream sends at its rate and the
 * streams at different moments; with a batch of B, those of B streams at the same moment, as a
 * model server has them that computes the next token of all its answers in one step. A piece that
 * is due while the one before it is not acknowledged, or while the socket takes no more, waits, and
 * its delay counts from when it was sent: whether the nodes keep up shows in the tokens that were
 * sent per second.
 *
 * The first second warms up; then counters are taken at both ends of the measured time; then all
 * answers are given, the viewers see their end, and nothing stays open. A viewer's event says by
 * its id where its text ends, and so which pieces it brings.
 */
#include "services/bench/report.h"
#include "services/bench/token_text.h"
#include "services/bench/viewer.h"
#include "services/bench/writer_socket.h"

#include "shared/base/clock.h"
#include "shared/base/mem.h"

#include <errno.h>
#include <stdio.h>

enum { SETUP_US = 60000000, WARM_UP_US = 1000000, DRAIN_US = 5000000, SLICE_US = 250000 };
enum { STEP_US = 20000, TURN_LEAST_US = 50 };

struct stream {
    struct bench_writer writer; /* first: an event of the writer finds its stream by this address */
    uint64_t *sent_us;          /* of each piece, in turn: when it was sent first */
    uint64_t piece_n, owed_n;   /* owed: due and not sent yet */
    uint64_t answer_bytes;      /* 0: not answered yet */
};

struct tokens_run {
    const struct bench *bench;
    struct bench_conn_loop loop;
    struct stream *streams;
    struct bench_viewer *viewers;             /* those of a stream follow each other */
    struct bench_writer_socket *sockets;      /* those of streams that follow each other */
    size_t stream_n, viewer_n, socket_n;      /* socket_n 0: by the routes */
    size_t turn;                              /* the stream whose piece is due next */
    size_t claimed_n, open_n, over_n, done_n; /* over: writers; done: viewers */
    uint64_t first_due_us, per_s;             /* per_s: tokens of all streams */
    uint64_t due_n, sent_n, delivered_bytes;
    bool is_counting, is_draining;
    struct bench_tokens_result *result;
};

static uint64_t piece_bytes(const struct bench *bench)
{
    return (uint64_t)bench->per_piece * BENCH_TOKEN_BYTES;
}

/* --- writers ---------------------------------------------------------------------------------- */

static void send_piece(struct tokens_run *run, struct stream *stream)
{
    uint64_t n = piece_bytes(run->bench), from = stream->piece_n * n;
    stream->sent_us = mem_grow(stream->sent_us, stream->piece_n, sizeof *stream->sent_us);
    stream->sent_us[stream->piece_n++] = clock_mono_us();
    stream->owed_n--;
    run->sent_n += run->bench->per_piece;
    bench_writer_send(&stream->writer, (uint64_t)(stream - run->streams), from, from + n);
}

/* The answer is what was sent; one piece of text, if nothing was. */
static void send_answer(struct tokens_run *run, struct stream *stream)
{
    uint64_t piece_n = stream->piece_n > 0 ? stream->piece_n : 1;
    stream->answer_bytes = piece_n * piece_bytes(run->bench);
    bench_writer_end(&stream->writer, (uint64_t)(stream - run->streams), stream->answer_bytes);
}

static void send_next(struct tokens_run *run, struct stream *stream)
{
    while (!run->is_draining && stream->owed_n > 0 && bench_writer_is_idle(&stream->writer))
        send_piece(run, stream);
    if (run->is_draining && bench_writer_is_idle(&stream->writer))
        send_answer(run, stream);
}

static uint64_t next_due_us(const struct tokens_run *run)
{
    uint64_t batch_first = run->due_n - run->due_n % run->bench->batch;
    return run->first_due_us + batch_first * run->bench->per_piece * 1000000 / run->per_s;
}

/* Sends the pieces that are due. Returns when to look again: when the next one is due, at most
 * `until_us`, but not so soon that nothing is read meanwhile. */
static uint64_t send_due(struct tokens_run *run, uint64_t until_us)
{
    uint64_t now_us = clock_mono_us(), due_us;
    if (run->first_due_us == 0 || run->is_draining)
        return until_us;
    while ((due_us = next_due_us(run)) <= now_us) {
        struct stream *stream = &run->streams[run->turn];
        run->turn = run->turn + 1 < run->stream_n ? run->turn + 1 : 0;
        run->due_n++;
        stream->owed_n++;
        send_next(run, stream);
    }
    if (due_us < now_us + TURN_LEAST_US)
        due_us = now_us + TURN_LEAST_US;
    return due_us < until_us ? due_us : until_us;
}

static void check_end(struct tokens_run *run)
{
    if (run->over_n == run->stream_n && run->done_n == run->viewer_n)
        run->loop.is_stopped = true;
}

static void on_claimed(struct bench_writer *writer)
{
    ((struct tokens_run *)writer->worker.owner)->claimed_n++;
}

static void on_sent(struct bench_writer *writer)
{
    send_next(writer->worker.owner, (struct stream *)writer);
}

static void on_over(struct bench_writer *writer)
{
    struct tokens_run *run = writer->worker.owner;
    run->over_n++;
    check_end(run);
}

static const struct bench_writer_events writer_events = {
    .on_claimed = on_claimed, .on_sent = on_sent, .on_over = on_over};

/* --- viewers ---------------------------------------------------------------------------------- */

static void on_open(struct bench_viewer *viewer)
{
    ((struct tokens_run *)viewer->worker.owner)->open_n++;
}

static void on_text(struct bench_viewer *viewer, uint64_t from, uint64_t to)
{
    struct tokens_run *run = viewer->worker.owner;
    const struct stream *stream = &run->streams[viewer->stream];
    uint64_t n = piece_bytes(run->bench), now_us = clock_mono_us();
    run->delivered_bytes += to - from;
    if (!run->is_counting)
        return;
    for (uint64_t piece = from / n; piece < to / n && piece < stream->piece_n; piece++)
        bench_samples_put(&run->result->delay, (int64_t)(now_us - stream->sent_us[piece]));
}

static void on_done(struct bench_viewer *viewer)
{
    struct tokens_run *run = viewer->worker.owner;
    viewer->is_unequal |= viewer->offset != run->streams[viewer->stream].answer_bytes;
    run->done_n++;
    check_end(run);
}

static const struct bench_viewer_events viewer_events = {
    .on_open = on_open, .on_text = on_text, .on_done = on_done};

/* --- the run ---------------------------------------------------------------------------------- */

static void run_slice(struct tokens_run *run, uint64_t end_us, const char *what)
{
    bench_show_progress(run->bench, "tokens: %s, %llu %s, %llu %s", what,
                        COUNTED(run->sent_n, "token"),
                        COUNTED(run->result->faults.errors, "error"));
    while (clock_mono_us() < end_us && !run->loop.is_stopped)
        bench_conn_loop_run(&run->loop, send_due(run, end_us));
}

static void run_for(struct tokens_run *run, uint64_t duration_us, const char *what)
{
    uint64_t now_us, end_us = clock_mono_us() + duration_us;
    while ((now_us = clock_mono_us()) < end_us && !run->loop.is_stopped)
        run_slice(run, now_us + SLICE_US < end_us ? now_us + SLICE_US : end_us, what);
}

/* Returns whether `*count` has reached `n` in time; `what` says of what. */
static bool run_until(struct tokens_run *run, const size_t *count, size_t n, const char *what)
{
    uint64_t now_us, end_us = clock_mono_us() + SETUP_US;
    while (*count < n && run->over_n == 0 && (now_us = clock_mono_us()) < end_us &&
           !run->loop.is_stopped)
        run_slice(run, now_us + STEP_US, "beginning");
    if (*count < n && !run->loop.is_stopped)
        bench_fault(&run->result->faults, "only %zu of %zu %s", *count, n, what);
    return *count >= n;
}

static bool set_up(struct tokens_run *run)
{
    const struct bench *bench = run->bench;
    for (size_t i = 0; i < run->socket_n; i++)
        bench_writer_socket_open(&run->sockets[i]);
    for (size_t i = 0; i < run->stream_n; i++)
        bench_writer_begin(&run->streams[i].writer);
    if (!run_until(run, &run->claimed_n, run->stream_n, "questions were claimed"))
        return false;
    for (size_t i = 0; i < run->viewer_n; i++) {
        size_t stream = i / bench->viewers;
        bench_viewer_begin(&run->viewers[i], &run->streams[stream].writer.worker, stream);
    }
    return run_until(run, &run->open_n, run->viewer_n, "streams were opened");
}

static void measure(struct tokens_run *run)
{
    struct bench_tokens_result *result = run->result;
    run->first_due_us = clock_mono_us();
    run_for(run, WARM_UP_US, "warming up");
    run->is_counting = true;
    uint64_t begun_us = clock_mono_us(), sent_n = run->sent_n, bytes = run->delivered_bytes;
    double node_s = bench_proc_cpu_s(&run->bench->nodes);
    double redis_s = bench_proc_cpu_s(&run->bench->redis);
    double client_s = bench_proc_own_cpu_s();
    run_for(run, (uint64_t)run->bench->seconds * 1000000u, "measuring");
    run->is_counting = false;
    result->elapsed_us = clock_mono_us() - begun_us;
    result->sent = run->sent_n - sent_n;
    result->delivered = (run->delivered_bytes - bytes) / BENCH_TOKEN_BYTES;
    result->node_cpu_s = bench_proc_spent_s(&run->bench->nodes, node_s);
    result->redis_cpu_s = bench_proc_spent_s(&run->bench->redis, redis_s);
    result->client_cpu_s = bench_proc_own_cpu_s() - client_s;
}

/* Answers, so that nothing stays open, and waits until all viewers have seen it. */
static void finish(struct tokens_run *run)
{
    struct bench_tokens_result *result = run->result;
    run->is_draining = true;
    for (size_t i = 0; i < run->stream_n; i++)
        send_next(run, &run->streams[i]);
    run_for(run, DRAIN_US, "finishing");
    result->unfinished = run->loop.is_stopped ? 0 : run->viewer_n - run->done_n;
    for (size_t i = 0; i < run->stream_n; i++)
        result->refused += run->streams[i].writer.refused_n;
    for (size_t i = 0; i < run->viewer_n; i++) {
        result->resets += run->viewers[i].reset_n;
        result->unequal += run->viewers[i].is_unequal;
    }
    if (result->unequal > 0)
        bench_fault(&result->faults, "the text of a viewer is not what was sent");
    bench_faults_finish(&result->faults, &run->loop);
    bench_samples_sort(&result->delay);
}

/* The last one has fewer slots if it has fewer streams. */
static void init_sockets(struct tokens_run *run)
{
    const struct bench *bench = run->bench;
    run->sockets = mem_zeroed_n(run->socket_n, sizeof *run->sockets);
    for (size_t i = 0; i < run->socket_n; i++) {
        size_t first = i * bench->slots, left = run->stream_n - first;
        unsigned slots = left < bench->slots ? (unsigned)left : bench->slots;
        bench_writer_socket_init(&run->sockets[i], bench, run, &run->loop, slots,
                                 &run->result->faults);
        for (size_t k = 0; k < slots; k++)
            bench_writer_socket_add(&run->sockets[i], &run->streams[first + k].writer);
    }
}

static void init(struct tokens_run *run)
{
    const struct bench *bench = run->bench;
    struct bench_faults *faults = &run->result->faults;
    run->streams = mem_zeroed_n(run->stream_n, sizeof *run->streams);
    run->viewers = mem_zeroed_n(run->viewer_n, sizeof *run->viewers);
    for (size_t i = 0; i < run->stream_n; i++) {
        struct bench_writer *writer = &run->streams[i].writer;
        bench_writer_init(writer, bench, run, &run->loop, &writer_events, faults);
        writer->worker.user = (unsigned)(i % bench->users);
    }
    init_sockets(run);
    for (size_t i = 0; i < run->viewer_n; i++) {
        size_t target = bench->target_n == 1 ? 0 : 1 + i % (bench->target_n - 1);
        bench_viewer_init(&run->viewers[i], bench, run, &run->loop, &bench->targets[target],
                          &viewer_events, faults);
    }
}

static void fini(struct tokens_run *run)
{
    for (size_t i = 0; i < run->socket_n; i++)
        bench_writer_socket_fini(&run->sockets[i]);
    for (size_t i = 0; i < run->stream_n; i++) {
        bench_writer_fini(&run->streams[i].writer);
        free(run->streams[i].sent_us);
    }
    for (size_t i = 0; i < run->viewer_n; i++)
        bench_viewer_fini(&run->viewers[i]);
    free(run->sockets);
    free(run->streams);
    free(run->viewers);
    bench_conn_loop_fini(&run->loop);
}

bool bench_tokens_run(const struct bench *bench, struct bench_tokens_result *ret_result)
{
    *ret_result = (struct bench_tokens_result){.node_cpu_s = -1, .redis_cpu_s = -1};
    struct tokens_run run = {.bench = bench, .result = ret_result};
    run.stream_n = bench->streams;
    run.viewer_n = run.stream_n * bench->viewers;
    if (bench->has_engine_sockets)
        run.socket_n = (run.stream_n + bench->slots - 1) / bench->slots;
    run.per_s = run.stream_n * bench->token_rate;
    if (!bench_conn_raise_limit(run.stream_n + run.viewer_n + run.socket_n, "connections",
                                "--streams or --viewers"))
        return false;
    if (!bench_conn_loop_init(&run.loop)) {
        fprintf(stderr, "parley: cannot create an event loop: %s\n", strerror(errno));
        return false;
    }
    init(&run);
    if (set_up(&run))
        measure(&run);
    finish(&run);
    fini(&run);
    return true;
}
