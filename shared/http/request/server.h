/* SPDX-License-Identifier: MIT
 *
 * server: the state that all requests of one loop share. One per thread, used on its thread only;
 * threads share the listening address (shared/http/wire/listen.h), not the server. Its parts belong
 * to the files that are named beside them: others read them and call their functions. Accepting,
 * routing and draining: shared/http/server/server_run.h.
 */
#ifndef PARLEY_HTTP_SERVER_H
#define PARLEY_HTTP_SERVER_H

#include "shared/base/buf.h"
#include "shared/http/wire/wire.h"
#include "shared/op/fair_slots.h"
#include "shared/redis/shards.h"

struct account_book;
struct gate;
struct held_nonces;
struct listeners;
struct oidc_settings;
struct request;
struct router;
struct services;
struct websockets;

/* Settings shared by all threads of a process; read-only while they run, except where noted. */
struct server_config {
    struct wire_config wire;
    struct account_book *accounts; /* NULL: no accounts and no routes with roles */
    bool is_sha1_allowed;
    bool logs_requests;               /* at level info; otherwise at level debug */
    const struct oidc_settings *oidc; /* NULL, or not oidc_is_wanted: no OpenID provider */
    const char *cors_origins;         /* "*" or a comma list */
    const char *trusted_proxies;      /* comma list of addresses or CIDR blocks */
    uint64_t body_max_bytes;          /* default for routes */
};

/* Hooks of the rooms above at these points of a request's life. */
struct request_hooks {
    /* It waits from now on (request_park). */
    void (*parked)(struct request *r);
    /* Its answer begins. */
    void (*begins)(struct request *r, int status);
    /* Its whole answer waits because its nonce is not used up. Uses it up, then calls respond_held
     * or respond_instead. */
    void (*holds)(struct request *r);
    /* Its answer was counted. */
    void (*answered)(struct request *r, int status);
    /* Its client has left. Listeners (request_on_left) run afterwards. */
    void (*left)(struct request *r);
    /* libh2o has finished with it, answered or not. */
    void (*gone)(struct request *r);
    /* A reply says that its nonce was used before. True: it begins again; false: it is answered
     * with that. */
    bool (*replayed)(struct request *r);
};

struct server_requests {            /* request.c */
    size_t open_n;                  /* between start and gone */
    uint64_t numbered_n;            /* that got an id or brought one */
    struct fair_slots *long_bodies; /* handle.c: one at a time */
    struct list with_account;       /* struct request */
};
/* Log limits per error code of respond.c and for tokens of authenticate.c, because anybody can
 * cause both at will. */
struct server_refusals {
    struct log_limit answers[ERR_NR];
    struct log_limit tokens;
};

struct server {
    struct loop *loop;
    const struct server_config *config;
    struct shards *shards;
    struct metrics *metrics;
    struct services *services; /* used by handlers, borrowed (services/node/services.h) */
    char node_id[24];
    bool is_first; /* of its process: reports what concerns all of its threads; set by the caller */
    bool is_draining;
    struct buf scratch; /* for building one answer; cleared by its user */

    struct wire wire;
    struct router *router;
    const struct request_hooks *hooks;
    struct server_requests requests;
    struct server_refusals refusals;
    struct gate *gate;               /* access/gate.h */
    struct held_nonces *held_nonces; /* access/held_nonces.h */
    struct websockets *websockets;   /* websocket/websocket.h */
    struct listeners *listeners;     /* server/listeners.h */
};

#endif
