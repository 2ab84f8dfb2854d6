/* SPDX-License-Identifier: MIT
 *
 * writer: the engine of one answer that is shown while it is written. It has a question added,
 * claims one, sends the text piece by piece, and at last the whole of it: by the engine's routes,
 * one request per piece, on a connection of its own, or over a socket that it shares with other
 * writers (writer_socket.h). Mode `tokens` knows no more of how a text travels to a node than what
 * these headers say.
 */
#ifndef PARLEY_BENCH_WRITER_H
#define PARLEY_BENCH_WRITER_H

#include "services/bench/socket.h"

struct bench_writer;

/* Each may call bench_writer_send or bench_writer_end, except on_over. */
struct bench_writer_events {
    /* It has a claim of this run: `worker.topic` and `worker.seq`. */
    void (*on_claimed)(struct bench_writer *writer);
    /* The node has the piece, or, over a socket, more can be sent. */
    void (*on_sent)(struct bench_writer *writer);
    /* The answer is stored, or cannot be written any more. Nothing comes after it. */
    void (*on_over)(struct bench_writer *writer);
};

struct bench_writer {
    struct bench_worker worker; /* first: a handler finds its writer by this address */
    const struct bench_writer_events *events;
    struct bench_faults *faults;
    uint64_t refused_n; /* pieces that the node did not take, repeated ones included */
    struct buf text;    /* the JSON string that is on its way */
    bool is_claimed, is_over;
    struct bench_socket *socket;               /* NULL: by the routes */
    struct list_link link;                     /* of its socket's writers */
    uint64_t stream, sent_bytes, stored_bytes; /* over a socket */
    bool has_answered;                         /* an answer is on its way over a socket */
};

/* Borrows all that it points to. */
void bench_writer_init(struct bench_writer *writer, const struct bench *bench, void *owner,
                       struct bench_conn_loop *loop, const struct bench_writer_events *events,
                       struct bench_faults *faults);
void bench_writer_fini(struct bench_writer *writer);

/* Has a question added, and claims one: its own, or that of another writer. */
void bench_writer_begin(struct bench_writer *writer);
/* Returns whether it can send something: no request of it is under way. */
bool bench_writer_is_idle(const struct bench_writer *writer);
/* Sends the bytes `from` to `to` of the text of `stream` (token_text.h). */
void bench_writer_send(struct bench_writer *writer, uint64_t stream, uint64_t from, uint64_t to);
/* Answers with all of the text up to `to`. */
void bench_writer_end(struct bench_writer *writer, uint64_t stream, uint64_t to);

/* For its socket. It takes the claim, which is of this run. */
void bench_writer_take_claim(struct bench_writer *writer, struct str json);
/* Its answer is stored, or a frame of it was refused. */
void bench_writer_take_reply(struct bench_writer *writer, const struct bench_socket_reply *reply);
/* Sends again what the node may not have. */
void bench_writer_resume(struct bench_writer *writer);

#endif
