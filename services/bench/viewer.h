/* SPDX-License-Identifier: MIT
 *
 * viewer: a frontend that follows one answer by server-sent events while it is written, and
 * compares each piece with what its writer sends. If its connection breaks, it resumes after the
 * last piece that it has.
 */
#ifndef PARLEY_BENCH_VIEWER_H
#define PARLEY_BENCH_VIEWER_H

#include "services/bench/worker.h"
#include "shared/http/request/sse.h"

struct bench_viewer;

struct bench_viewer_events {
    /* The node has begun to stream. */
    void (*on_open)(struct bench_viewer *viewer);
    /* It has the text from byte `from` to `to`, which it had not before. */
    void (*on_text)(struct bench_viewer *viewer, uint64_t from, uint64_t to);
    /* The stream is complete. Nothing comes after it. */
    void (*on_done)(struct bench_viewer *viewer);
};

struct bench_viewer {
    struct bench_worker worker; /* first: a handler finds its viewer by this address */
    const struct bench_viewer_events *events;
    struct bench_faults *faults;
    struct sse sse;
    uint64_t stream;        /* the number of its text (token_text.h) */
    uint64_t claim, offset; /* of its last piece; claim 0: none has come */
    uint64_t reset_n;       /* how often the text began again: events `restart` and `reset` */
    bool is_open, is_over;  /* over: the node has said how the stream ends */
    bool is_unequal;        /* it has something that its writer did not send */
};

/* It reads from `target`. Borrows all that it points to. */
void bench_viewer_init(struct bench_viewer *viewer, const struct bench *bench, void *owner,
                       struct bench_conn_loop *loop, const struct bench_target *target,
                       const struct bench_viewer_events *events, struct bench_faults *faults);
void bench_viewer_fini(struct bench_viewer *viewer);

/* Follows what `writer` has claimed, whose text is that of `stream`. */
void bench_viewer_begin(struct bench_viewer *viewer, const struct bench_worker *writer,
                        uint64_t stream);

#endif
