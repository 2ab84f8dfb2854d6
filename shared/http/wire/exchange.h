/* SPDX-License-Identifier: MIT
 *
 * exchange: the wire's record of a request and its answer: its connection, the memory that it
 * holds, and the callbacks for a client that leaves. The first member of struct request, in its
 * pool.
 */
#ifndef PARLEY_HTTP_EXCHANGE_H
#define PARLEY_HTTP_EXCHANGE_H

#include "shared/base/list.h"

#include <h2o.h>
#include <stdbool.h>

struct connection;

/* The lists that an unread answer is in: of its thread, and of its client's address. */
enum { UNREAD_OF_THREAD, UNREAD_OF_ADDRESS, UNREAD_LIST_NR };

/* The part of its answer that is held until the client has read it (connection.h). */
struct unread {
    size_t bytes;      /* that count: 0 up to 16 KiB */
    size_t gathered;   /* while the answer is put together: what it takes so far */
    uint64_t since_ms; /* when it began to wait, or was looked at and being read */
    struct list_link in[UNREAD_LIST_NR]; /* while it is being sent */
};

/* Notified when a client has left. In its owner's memory; zeroed initially. */
struct left_listener {
    struct left_listener *next; /* of the exchange's */
    void (*on_left)(struct left_listener *listener);
};

struct exchange {
    h2o_req_t *h2o; /* its `conn` is NULL for a request of the node's own code (inner.h) */
    struct connection *connection;      /* NULL: none, or its socket is not an accepted one */
    size_t held_bytes, anonymous_bytes; /* counted for its body (connection.h) */
    struct unread unread;
    struct left_listener *left;
    /* Runs when the client is seen to have left, before the listeners; NULL: nothing. */
    void (*on_left)(struct exchange *x);
    bool is_authenticated; /* it has an account */
    bool is_answered;      /* its answer has begun */
    bool is_stream;        /* and is being streamed */
    bool has_left;         /* the client has left and listeners were called */
    bool pauses;           /* HTTP/2: its connection is not read before its answer */
    bool is_refused;       /* without a connection: nobody takes the answer any more */
    bool is_unread;        /* HTTP/2: of an anonymous client, answer not yet written */
};

#endif
