/* SPDX-License-Identifier: MIT
 *
 * wire: shared by the files of this folder: the loop, the limits of bytes, and decisions of the
 * folders above. The wire knows bytes, heads and exchanges (exchange.h), but no route, account or
 * response: it asks for these through `rules`. One per server, on the loop's thread.
 */
#ifndef PARLEY_HTTP_WIRE_H
#define PARLEY_HTTP_WIRE_H

#include "shared/base/err.h"
#include "shared/base/str.h"
#include "shared/metrics/metrics.h"
#include "shared/op/loop.h"

struct connections;

/* Read-only while nodes run. */
struct wire_config {
    uint64_t idle_ms;         /* to send a request, and between requests */
    size_t header_max_bytes;  /* request line and headers */
    size_t body_memory_bytes; /* of each thread, for bodies over 16 KiB; 0: no bound */
    size_t connections_max;   /* of each thread; 0: no bound */
};

enum {
    ADMIT_UNASKED_BYTES = 16 << 10, /* bodies up to this size are always read */
    ADMIT_PUBLIC_BYTES = 48 << 10   /* the most that an anonymous client may send */
};

/* The head of a request whose body is to be read. */
struct admit_ask {
    struct str method, target;
    struct str authorization, caller_key, api_key; /* values of fields; `at == NULL`: none */
    uint64_t length; /* of the body; UINT64_MAX if it is not known yet */
};

struct admission {
    bool is_refused;
    bool is_authenticated;
    /* If refused: ERR_OK leaves the answer to normal processing without the body: 404, 405 or
     * 401. */
    enum err error;
    size_t most; /* bytes of the body that are read */
};

/* Decisions of the rooms above. `arg` is that of struct wire. */
struct wire_rules {
    /* Decides how much of the body to read. Reserves nothing and answers nothing. */
    struct admission (*admit)(void *arg, const struct admit_ask *ask);
    /* The largest body that the route of this target takes: at all, or from anonymous clients; 0
     * without a route. */
    size_t (*body_most)(void *arg, struct str method, struct str target, bool is_for_authenticated);
    /* There is room for connections again, or there may be after `after_ms`. */
    void (*accept_again)(void *arg);
    void (*accept_later)(void *arg, uint64_t after_ms);
};

struct wire {
    struct loop *loop;
    struct metrics *metrics;
    const struct wire_config *config;
    const struct wire_rules *rules;
    void *arg;
    struct connections *connections; /* connection.h */
    unsigned lingers_n; /* linger.c: closed connections whose input is still being drained */
    h2o_globalconf_t h2o_config;
    h2o_context_t context;
    h2o_accept_ctx_t accept;
};

#endif
