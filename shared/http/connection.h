/* SPDX-License-Identifier: MIT
 *
 * connection: a client's connection below libh2o. libh2o 2.2 reads as much as there is and shows a
 * request only once its body is there; here bytes are read for it, a bounded number at a time, and
 * it gets to see a head that was read before (head.h) and a body that was let in (admit.h). Knows
 * which connections are idle and closes them when descriptors run short. How this works with
 * libh2o, and why, is in docs/adr/0012.
 *
 * One `struct connection` per accepted socket, from connection_accept to the socket's end; found
 * by `on_close.data` of the socket, which is ours on accepted sockets. On the loop's thread.
 */
#ifndef PARLEY_HTTP_CONNECTION_H
#define PARLEY_HTTP_CONNECTION_H

#include "shared/http/request.h"

struct connection;
struct connections;

/* Borrows `server`. */
struct connections *connections_create(struct server *server) must_check;
/* Accepts NULL. */
void connections_destroy(struct connections *connections);

/* Does one connection more need room to be made? */
bool connections_are_at_most(const struct connections *connections) must_check;
/* Is there a descriptor for one connection more, or could an idle one be closed for it? When not,
 * server_accept_again is called once that changes, or may have. For one that is there: it closes
 * what it can. */
bool connections_make_room(struct connections *connections) must_check;
/* A descriptor that counts is free again, or may be soon. */
void connections_have_room(struct connections *connections);
/* Takes over a socket that was just accepted and gives it to libh2o. */
void connection_accept(struct connections *connections, h2o_socket_t *socket);

/* What there is of them at the moment, for operators. */
struct connections_view {
    size_t open_n, idle_n;             /* idle: without a request, strangers' and proven ones */
    size_t idle_proven_n;              /* whose last request had proven itself */
    size_t held_bytes, unproven_bytes; /* of bodies over 16 KiB; unproven: of strangers' */
    size_t stream_bytes;               /* HTTP/2: what strangers' streams cost */
};
struct connections_view connections_look(const struct connections *connections);

/* NULL when the socket is not an accepted one. */
struct connection *connection_of(h2o_socket_t *socket);
/* HTTP/1: the request under way, NULL between requests. */
struct request *connection_request(const struct connection *connection);

/* A request begins, which sets r->connection: what was read past its end is put aside. Then it
 * ends: what was put aside is read once libh2o asks for more. */
void connection_begin(struct request *r);
void connection_end(struct request *r);
/* It has an account: its body is no stranger's any more. */
void connection_proves(struct request *r);
/* It is answered: a connection of HTTP/2 whose request was refused is read again. */
void connection_answered(struct request *r);

/* HTTP/2: its whole answer is handed to libh2o now, and nobody proved who gets it. */
void connection_answers_stranger(struct request *r);

/* A piece of its answer was handed to libh2o. */
void connection_wrote(struct request *r);
/* At the end of each turn of the loop: libh2o may have begun to read again by itself. */
void connections_settle(struct connections *all);

/* The socket is no longer libh2o's: its next reads are the caller's. What was put aside is in its
 * input. */
void connection_give_away(h2o_socket_t *socket);

/* What the request that is starting now is refused with; false when it is not. */
struct refusal {
    bool is_set;
    bool is_unread;     /* there was no head to read: the request is a stand-in */
    enum err error;     /* ERR_OK: whatever the ordinary way says of it, without its body */
    const char *detail; /* static; NULL for that of the error table */
};
struct refusal connections_take_refusal(struct connections *connections);

#endif
