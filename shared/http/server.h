/* SPDX-License-Identifier: MIT
 *
 * server: HTTP on one loop: accepting, routing, draining. One per thread, used on its thread only;
 * threads share the listening address (shared/http/listen.h), not the server.
 */
#ifndef PARLEY_HTTP_SERVER_H
#define PARLEY_HTTP_SERVER_H

#include "shared/auth/accounts.h"
#include "shared/auth/token.h"
#include "shared/base/buf.h"
#include "shared/metrics/metrics.h"
#include "shared/op/loop.h"
#include "shared/redis/turn.h"

struct connections;
struct request;
struct route;
struct router;
struct services;
struct failures;
struct oidc;
struct websocket;

/* What all threads of a process share; read-only while they run, except where noted. */
struct server_config {
    struct account_book *accounts; /* NULL: there are none, and no routes with roles */
    bool is_sha1_allowed;
    const char *cors_origins;    /* "*" or a comma list */
    const char *trusted_proxies; /* comma list of addresses or CIDR blocks */
    uint64_t body_max_bytes;     /* of routes that do not say otherwise */
    uint64_t header_max_bytes;   /* request line and headers */
    uint64_t idle_ms;            /* to send a request, and between requests */
    uint64_t websocket_ping_ms;  /* between two signs of life of a WebSocket; 0: 30 s */
    size_t body_memory_bytes;    /* of each thread, for bodies over 16 KiB; 0: no bound */
    size_t connections_max;      /* of each thread; 0: no bound */
};

struct server {
    struct loop *loop;
    const struct server_config *config;
    struct turn *turn;
    struct metrics *metrics;
    struct router *router;
    struct failures *failures; /* logins that failed */
    struct token_key token_key;
    bool has_token_key;
    struct call key_call; /* that asks for it */
    struct oidc *oidc;    /* borrowed; NULL: no OpenID provider */
    bool is_draining;
    struct services *services; /* what handlers work on, borrowed (services/node/services.h) */
    struct buf scratch;        /* for building one answer; cleared by its user */
    char node_id[24];
    uint64_t request_n;

    h2o_globalconf_t h2o_config;
    h2o_context_t context;
    h2o_accept_ctx_t accept;
    h2o_socket_t *listener;
    struct deadline accept_again;
    struct connections *connections;
    unsigned linger_n; /* closed connections whose unread bytes are still taken */
    size_t open_n;     /* requests and WebSockets between start and gone */
    struct websocket *websockets;
    struct request *requests;             /* that have an account */
    const struct accounts *accounts_seen; /* the generation that these were last compared with */
};

/* All is borrowed but `node_id`. `tables` ends with NULL, each table with a NULL path. The caller
 * sets `oidc` and `services` behind it. */
void server_init(struct server *server, struct loop *loop, const struct server_config *config,
                 struct turn *turn, struct metrics *metrics, const struct route *const *tables,
                 const char *node_id);
/* Starts accepting; takes over `fd`. */
void server_start(struct server *server, int fd);
/* There is room for connections again (connection.h). */
void server_accept_again(struct server *server);
/* Stops accepting. Requests under way are answered; connections close with their answers. */
void server_drain(struct server *server);
/* To be called at the end of each turn of the loop. */
void server_turn_end(struct server *server);
/* After the loop has ended: nobody is answered any more. */
void server_fini(struct server *server);
/* The largest body that the route takes, and what a larger one is answered with. */
size_t server_body_max(const struct server *server, const struct route *route);
enum err server_too_large(const struct route *route);

#endif
