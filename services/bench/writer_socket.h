/* SPDX-License-Identifier: MIT
 *
 * writer_socket: one engine whose writers (writer.h) send their texts over one socket. It has a
 * slot for each of them.
 */
#ifndef PARLEY_BENCH_WRITER_SOCKET_H
#define PARLEY_BENCH_WRITER_SOCKET_H

#include "services/bench/writer.h"

struct bench_writer_socket {
    struct bench_socket socket; /* first: an event finds the writers by this address */
    struct list writers;        /* struct bench_writer */
};

/* Borrows all that it points to. */
void bench_writer_socket_init(struct bench_writer_socket *socket, const struct bench *bench,
                              void *owner, struct bench_conn_loop *loop, unsigned slots,
                              struct bench_faults *faults);
void bench_writer_socket_fini(struct bench_writer_socket *socket);
/* Gives it a writer that has not begun; at most `slots`. */
void bench_writer_socket_add(struct bench_writer_socket *socket, struct bench_writer *writer);
void bench_writer_socket_open(struct bench_writer_socket *socket);

#endif
