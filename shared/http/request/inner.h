/* SPDX-License-Identifier: MIT
 *
 * inner: a request of the node's own code to one of its routes, as an account that has proved
 * itself elsewhere, on a WebSocket for instance, or as nobody. It passes the same checks and limits
 * as a request of a client, and its handler does not notice the difference. Upgrades are not
 * possible. On the loop's thread.
 *
 *     inner_start(&inner, server, &call);     runs the handler; callbacks may run inside it
 *     inner_end(&inner, true);                once the answer has arrived, outside of callbacks
 *
 * Lives in its owner, which ends it before its memory goes. What the handler has begun ends with
 * it, as if a client had left.
 */
#ifndef PARLEY_HTTP_INNER_H
#define PARLEY_HTTP_INNER_H

#include "shared/http/request/request.h"

struct inner {
    struct request *request; /* NULL: it has not begun, or has ended */
    /* The whole answer, which lives until inner_end. Runs once. */
    void (*on_answer)(struct inner *inner, int status, struct str body);
    /* If it takes events and its handler streams: one event, then the next, as they come. `event`
     * and `data` live until the callback returns. */
    void (*on_event)(struct inner *inner, const char *event, struct str data);
    /* The stream has ended, after its last event. Runs once, instead of on_answer. */
    void (*on_end)(struct inner *inner);
};

struct inner_call {
    /* Whose role the route must admit; NULL for a route without roles. */
    const struct account *account;
    struct str peer; /* the address of its client */
    struct str id;   /* X-Request-Id; n == 0: a new one */
    struct str user; /* X-Parley-User, the person it asks for; n == 0: none */
    const char *method;
    struct str target; /* path and query */
    struct str body;   /* n == 0: none */
    bool takes_events; /* its owner has on_event and on_end */
    bool is_behind;    /* its queries wait behind all others */
};

/* Copies what `call` points to, except the account. A route that does not exist, or that does
 * not admit the account's role, is a bug of the caller and aborts. */
void inner_start(struct inner *inner, struct server *server, const struct inner_call *call);
/* Inside on_answer: the header `name` (lower case) of the answer; `at == NULL` when absent. */
struct str inner_header(const struct inner *inner, const char *name);
/* `is_taken`: its answer has arrived; otherwise work that it hands out is taken back. Does nothing
 * if it has ended. */
void inner_end(struct inner *inner, bool is_taken);
/* Ends one whose answer nobody wants any more, now or later: what it has begun is not kept for an
 * equal request. */
void inner_withdraw(struct inner *inner);

#endif
