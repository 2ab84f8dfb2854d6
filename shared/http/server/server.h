/* SPDX-License-Identifier: MIT
 *
 * server: HTTP on one loop: accepting, routing, draining. One per thread, used on its thread only;
 * threads share the listening address (shared/http/wire/listen.h), not the server.
 */
#ifndef PARLEY_HTTP_SERVER_H
#define PARLEY_HTTP_SERVER_H

#include "shared/base/buf.h"
#include "shared/http/access/gate.h"
#include "shared/metrics/metrics.h"
#include "shared/op/fair_slots.h"
#include "shared/op/loop.h"
#include "shared/redis/shards.h"

struct connections;
struct request;
struct route;
struct router;
struct services;
struct tls;
struct oidc_settings;
struct websocket;
struct websocket_owner;

/* Settings shared by all threads of a process; read-only while they run, except where noted. */
struct server_config {
    struct account_book *accounts; /* NULL: no accounts and no routes with roles */
    bool is_sha1_allowed;
    bool logs_requests;               /* at level info; otherwise at level debug */
    const struct oidc_settings *oidc; /* NULL, or not oidc_is_wanted: no OpenID provider */
    const char *cors_origins;         /* "*" or a comma list */
    const char *trusted_proxies;      /* comma list of addresses or CIDR blocks */
    uint64_t body_max_bytes;          /* default for routes */
    uint64_t header_max_bytes;        /* request line and headers */
    uint64_t idle_ms;                 /* to send a request, and between requests */
    size_t body_memory_bytes;         /* of each thread, for bodies over 16 KiB; 0: no bound */
    size_t connections_max;           /* of each thread; 0: no bound */
};

/* Parts of a server. Only the named file writes each one; others read them and call its
 * functions. */
struct server_requests {            /* request.c */
    size_t open_n;                  /* between start and gone */
    uint64_t numbered_n;            /* that got an id or brought one */
    struct fair_slots *long_bodies; /* one at a time */
};
struct server_rights {           /* rights.c */
    struct request *requests;    /* that have an account */
    const struct accounts *seen; /* the generation that open requests were last checked against */
};
enum { WEBSOCKET_OWNER_BUCKETS = 256 };
struct server_websockets { /* websocket.c */
    struct websocket *first;
    size_t open_n;
    size_t queued_bytes; /* that wait for readers */
    size_t owner_n;
    struct websocket_owner *owners[WEBSOCKET_OWNER_BUCKETS];
};
/* Log limits per error code of respond.c and for tokens of authenticate.c, because strangers can
 * cause both at will. */
struct server_refusals {
    struct log_limit answers[ERR_NR];
    struct log_limit tokens;
};
struct server_drain {           /* server.c: after server_drain */
    uint64_t handshakes_end_ms; /* until then clients may complete connections that they began */
    uint64_t requests_n, quiet_from_ms; /* the last look's numbered_n, and since when it is so */
};
struct server_held_nonces {      /* held_nonces.c */
    struct buf news[SHARDS_MAX]; /* what each shard has not been told yet */
    uint64_t sync_ms;            /* the longest time between two syncs; set by the caller */
};
struct server_lingers { /* linger.c */
    unsigned open_n;    /* closed connections whose input is still being drained */
};

enum { LISTENERS_MAX = 2 };
struct listener {
    h2o_socket_t *socket; /* NULL: none */
    struct server *server;
    struct tls *tls; /* NULL: without TLS */
};

struct server {
    struct loop *loop;
    const struct server_config *config;
    struct shards *shards;
    struct metrics *metrics;
    struct services *services; /* used by handlers, borrowed (services/node/services.h) */
    char node_id[24];
    bool is_first; /* of its process: reports what concerns all of its threads; set by the caller */
    struct buf scratch; /* for building one answer; cleared by its user */

    struct gate gate;
    struct connections *connections; /* connection.h */
    struct server_requests requests;
    struct server_rights rights;
    struct server_websockets websockets;
    struct server_held_nonces held_nonces;
    struct server_lingers lingers;
    struct server_drain drain;
    struct server_refusals refusals;

    /* The rest belongs to server.c. */
    struct router *router;
    bool is_draining;
    h2o_globalconf_t h2o_config;
    h2o_context_t context;
    h2o_accept_ctx_t accept;
    struct listener listeners[LISTENERS_MAX];
    struct deadline accept_again;
};

/* Borrows everything except `node_id`. `tables` ends with NULL, each table with a NULL path. The
 * caller sets `services` after it. */
void server_init(struct server *server, struct loop *loop, const struct server_config *config,
                 struct shards *shards, struct metrics *metrics, const struct route *const *tables,
                 const char *node_id);
/* Starts accepting; takes over `fd`, and borrows `tls` (NULL: without TLS). For LISTENERS_MAX
 * addresses at most. */
void server_start(struct server *server, int fd, struct tls *tls);
/* There is room for connections again (connection.h). */
void server_accept_again(struct server *server);
/* There may be room after `after_ms`. */
void server_accept_later(struct server *server, uint64_t after_ms);
/* Makes libh2o refuse bodies of more than `bytes`; returns the former limit. */
size_t server_limit_bodies(struct server *server, size_t bytes);
/* Refuses new connections. Those that clients have begun are accepted, requests are answered, and
 * connections close after their answers. */
void server_drain(struct server *server);
/* After server_drain, to be asked again and again: closes listeners once nobody waits to be
 * accepted. Whether that has happened, the server is idle, and connections that are still open have
 * not been used for a while. */
bool server_is_drained(struct server *server);
/* Whether no request is running, no WebSocket is open and no connection lingers. */
bool server_is_idle(const struct server *server);
/* Call it at the end of each turn of the loop. */
void server_turn_end(struct server *server);
/* Call it after the loop has ended: nothing is answered any more. */
void server_fini(struct server *server);
/* The route's maximum body, and the error for a larger one. */
size_t server_body_max(const struct server *server, const struct route *route);
enum err server_too_large(const struct route *route);

#endif
