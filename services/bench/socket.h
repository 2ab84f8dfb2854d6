/* SPDX-License-Identifier: MIT
 *
 * socket: an engine at /ws/engine, which gets claims and sends pieces of text and answers as frames
 * over one WebSocket. wslay does the framing. A socket that is lost is opened again; the node may
 * not have what was sent before. One thread.
 */
#ifndef PARLEY_BENCH_SOCKET_H
#define PARLEY_BENCH_SOCKET_H

#include "services/bench/worker.h"

#include <wslay/wslay.h>

struct bench_socket;

struct bench_socket_reply {
    int status;
    struct str to;    /* the type of the frame that it answers */
    struct str lease; /* raw JSON */
    struct str body;
};

/* All may send frames. What they are given is borrowed. */
struct bench_socket_events {
    /* It is open: at last, or again. NULL: nothing to do. */
    void (*on_open)(struct bench_socket *socket);
    /* A claim, as get-new-queries returns it. */
    void (*on_claim)(struct bench_socket *socket, struct str json);
    /* One other than 200 is counted already. NULL: nothing to do. */
    void (*on_reply)(struct bench_socket *socket, const struct bench_socket_reply *reply);
    /* The answer under `lease` (raw JSON) is stored up to `next`. NULL: nothing to do. */
    void (*on_stored)(struct bench_socket *socket, struct str lease, uint64_t next);
    /* bench_socket_is_writable, after it was not. NULL: nothing to do. */
    void (*on_writable)(struct bench_socket *socket);
};

struct bench_socket {
    struct bench_worker worker; /* first: a handler finds its socket by this address */
    const struct bench_socket_events *events;
    struct bench_faults *faults;
    wslay_event_context_ptr wslay;
    struct str input; /* bytes that wslay has not taken yet */
    struct buf frame; /* the one that is put together */
    unsigned slots;
};

/* For `slots` claims at a time. Borrows all that it points to. */
void bench_socket_init(struct bench_socket *socket, const struct bench *bench, void *owner,
                       struct bench_conn_loop *loop, const struct bench_target *target,
                       unsigned slots, const struct bench_socket_events *events,
                       struct bench_faults *faults);
void bench_socket_fini(struct bench_socket *socket);

void bench_socket_open(struct bench_socket *socket);
/* Returns whether it is open, and all frames so far are written. */
bool bench_socket_is_writable(const struct bench_socket *socket);

/* Each sends a frame: the piece, or the answer, that `worker` has at hand. */
void bench_socket_partial(struct bench_socket *socket, const struct bench_worker *worker);
void bench_socket_answer(struct bench_socket *socket, const struct bench_worker *worker);
/* Answers the row that `socket->worker` has at hand, and those after it. */
void bench_socket_answer_all(struct bench_socket *socket);

#endif
