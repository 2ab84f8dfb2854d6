/* SPDX-License-Identifier: MIT
 *
 * connection: a client's connection below libh2o. libh2o 2.2 reads everything available and passes
 * on a request only after its whole body has arrived. This module reads for it in bounded amounts,
 * so libh2o sees only heads that were checked (head.h) and bodies that were admitted (admit.h). It
 * tracks idle connections and closes them when descriptors run short. ADR 12 explains how
 * and why.
 *
 * One `struct connection` per accepted socket, from connection_accept to the socket's end; found
 * through the socket's `on_close.data`, which is ours on accepted sockets. On the loop's thread.
 */
#ifndef PARLEY_HTTP_CONNECTION_H
#define PARLEY_HTTP_CONNECTION_H

#include "shared/http/wire/exchange.h"
#include "shared/http/wire/wire.h"

struct connection;
struct connections;
struct tls;

/* Borrows `wire`. */
struct connections *connections_create(struct wire *wire) must_check;
/* Accepts NULL. */
void connections_destroy(struct connections *connections);

/* Returns false if one more connection needs another one to be closed first. */
bool connections_are_at_most(const struct connections *connections) must_check;
/* Returns whether a descriptor is free for one more connection, or an idle connection was closed to
 * free one. If not, the rule accept_again runs once that may have changed. */
bool connections_make_room(struct connections *connections) must_check;
/* Call it when a counted descriptor is free again, or may be soon. */
void connections_have_room(struct connections *connections);
/* Takes over a socket that was just accepted and gives it to libh2o; `tls`: after a handshake. */
void connection_accept(struct connections *connections, h2o_socket_t *socket, struct tls *tls);

/* The current numbers, for operators. */
struct connections_view {
    size_t open_n, idle_n;              /* idle: without a request, anonymous or not */
    size_t idle_authenticated_n;        /* whose last request was authenticated */
    size_t held_bytes, anonymous_bytes; /* of bodies over 16 KiB; anonymous: without an account */
    size_t stream_bytes;                /* HTTP/2: cost of anonymous streams */
};
struct connections_view connections_read_view(const struct connections *connections);

/* NULL when the socket is not an accepted one. */
struct connection *connection_of(h2o_socket_t *socket);
/* HTTP/1: the exchange under way, NULL between requests. */
struct exchange *connection_exchange(const struct connection *connection);

/* connection_begin: a request begins; sets x->connection and pushes back what was read past its
 * end. connection_end: it ends; what was pushed back is read once libh2o asks for more. */
void connection_begin(struct exchange *x);
void connection_end(struct exchange *x);
/* Notes that the request has an account: its body no longer counts as an anonymous client's. */
void connection_note_account(struct exchange *x);
/* Answers that clients have not read, if over 16 KiB each, are bounded like bodies of requests
 * (`--body-memory-mib`): in all, and half of that per address. connection_has_room: whether an
 * answer of `bytes` still fits. If not, connections whose clients have taken nothing for 5 s are
 * closed to make room, oldest first. connection_hold_answer: sets how much of it is held, until the
 * request ends. connection_is_given_up: it was closed so, and nothing more reaches its client.
 *
 * One that is put together from several replies counts from its first one on. connection_gather:
 * counts `more` bytes for it; if these do not fit, returns false and counts nothing.
 * connection_ungather: counts so many less. Its client has nothing to read yet, so its connection
 * is not closed for it. Both until connection_hold_answer. */
bool connection_has_room(struct exchange *x, size_t bytes) must_check;
void connection_hold_answer(struct exchange *x, size_t bytes);
bool connection_gather(struct exchange *x, size_t more) must_check;
void connection_ungather(struct exchange *x, size_t less);
bool connection_is_given_up(const struct exchange *x);
/* Runs if the client resets its connection, and not if it ends it or the node does. `stream`: 0, or
 * with HTTP/2 the id of the only stream that it resets. */
typedef void connection_reset_cb(void *arg, uint64_t connection, uint32_t stream);
/* From now on `on_reset` runs for the connection of that answered request. Returns the connection's
 * number, which is never 0; 0: there is nothing to follow. *ret_stream: with HTTP/2 the request's
 * stream, otherwise 0. Each call replaces the one before on that connection. */
uint64_t connection_on_reset(struct exchange *x, connection_reset_cb *on_reset, void *arg,
                             uint32_t *ret_stream);
/* HTTP/2: whether the client has reset the stream while the answer was being written, all of which
 * libh2o has taken. */
bool connection_was_reset(const struct exchange *x) must_check;
/* The request is answered: an HTTP/2 connection whose request was refused is read again. */
void connection_answered(struct exchange *x);

/* HTTP/2: its whole answer is now in libh2o, for an anonymous client. */
void connection_answers_anonymous(struct exchange *x);

/* Ends an answer of unknown length so that its client sees that it is not whole. With HTTP/1.0,
 * where such an answer ends with its connection, the connection is reset. `last` is sent before, if
 * there is still time: at least one byte, because libh2o may release the request inside h2o_send
 * without any. Static. */
void connection_cut(struct exchange *x, const char *last);
/* A piece of its answer was handed to libh2o. */
void connection_wrote(struct exchange *x);
/* At the end of each pass of the loop: libh2o may have begun to read again by itself. */
void connections_finish_pass(struct connections *all);

/* HTTP/1: sends the head of the answer, which was begun with status 101, and then gives the socket
 * away. `on_upgraded` gets it, or NULL if the connection is gone, and how much of its input was the
 * request. */
typedef void connection_upgraded_cb(void *arg, h2o_socket_t *socket, size_t request_n);
void connection_upgrade(struct exchange *x, connection_upgraded_cb *on_upgraded, void *arg);
/* Takes the socket from libh2o, which only reports from here on that it is readable: the caller
 * reads. What was pushed back is in its input. */
void connection_give_away(h2o_socket_t *socket);

/* Code that reads and writes sockets beside libh2o does so through these, which know of TLS.
 * Sockets that are not accepted ones are taken as they are. */

/* As recv(2), without waiting. */
ssize_t connection_receive(h2o_socket_t *socket, void *bytes, size_t n) must_check;
/* The same, and what was received stays. With HTTP/2, whose socket libh2o reads, the byte may be
 * one of TLS. */
ssize_t connection_peek(h2o_socket_t *socket, char *ret_byte) must_check;
/* Returns whether there is more to receive for which the socket will not become readable. */
bool connection_has_more(h2o_socket_t *socket) must_check;
/* Ends this side of the connection, once everything is written. */
void connection_end_writing(h2o_socket_t *socket);

/* The reason why the request that is starting now is refused, if it is. */
struct refusal {
    bool is_set;
    bool is_unread;     /* there was no head to read: the request is a stand-in */
    enum err error;     /* ERR_OK: normal processing answers, without the body */
    const char *detail; /* static; NULL for that of the error table */
    uint64_t length;    /* of a body that is too large; 0: not known */
};
struct refusal connections_take_refusal(struct connections *connections);

#endif
