/* SPDX-License-Identifier: MIT
 *
 * link: signed requests to the nodes that the engine pulls from. It knows their addresses and which
 * of them respond, signs each retry with a new nonce, and reads replies. What it can, it sends over
 * a WebSocket instead (link_socket.h). One per engine; single thread, on the loop that turns its
 * HTTP client.
 */
#ifndef PARLEY_SERVICES_ENGINE_LINK_LINK_H
#define PARLEY_SERVICES_ENGINE_LINK_LINK_H

#include "services/engine/link/timers.h"
#include "shared/base/json.h"
#include "shared/http/client/client.h"

#include <poll.h>

enum { LINK_URLS_MAX = 16, LINK_NODE_URL_MAX_BYTES = 1024 };

struct link;
struct link_call;

/* The frame of the socket that a request is. */
enum link_kind {
    LINK_ROUTE,       /* it has no frame */
    LINK_POLL,        /* a claim, when there is one */
    LINK_REST,        /* no claims for `rest_s`; ends the same slot's poll with none */
    LINK_LEAVE,       /* no claims any more; always by the route */
    LINK_ANSWER,      /* an answer; the next claim comes to a poll */
    LINK_EXTEND,      /* a heartbeat */
    LINK_RELEASE,     /* a whole claim */
    LINK_RELEASE_ONE, /* one query of it */
    LINK_KIND_NR
};

enum link_verdict {
    LINK_OK,         /* 2xx, with a JSON body */
    LINK_UNREADABLE, /* 2xx, and what should be JSON cannot be read: see `body` */
    LINK_RETRY,      /* no answer, or one that may differ next time: 5xx, 429, 401, 403 */
    LINK_REFUSED     /* it will not differ: 400, 404, 409, 413 */
};

/* Valid inside the callback only. */
struct link_reply {
    enum link_verdict verdict;
    int status;             /* 0: none came */
    const json_t *json;     /* NULL when there is none */
    struct str body;        /* of UNREADABLE */
    const char *code;       /* of the problem; "" */
    const char *reason;     /* for logs and people; "" */
    uint64_t retry_after_s; /* 0: none */
    uint64_t took_ms;
    unsigned socket; /* of a claim: for link_end_claim */
};

typedef void (*link_callback)(void *context, const struct link_reply *reply);

struct link_request {
    const char *path;      /* "/api/get-new-queries" */
    struct str query;      /* more parameters, encoded, or empty */
    struct str body;       /* JSON of a POST; `at == NULL`: a GET */
    struct str request_id; /* sent as X-Request-Id; `at == NULL`: none */
    uint64_t timeout_ms;
    unsigned home; /* number of the slot: which node to prefer, so that slots spread over them */
    bool is_probe; /* only this node, whatever its state; nothing is logged or recorded */
    enum link_kind kind;
    uint64_t rest_s;    /* of LINK_REST */
    const char *reason; /* of LINK_REST */
};

enum link_transport {
    LINK_AUTO,   /* the socket, or the routes where it cannot be opened */
    LINK_SOCKET, /* the socket; while it is down, all but polls goes to the routes */
    LINK_ROUTES
};

/* All is borrowed. */
struct link_socket_settings {
    struct timers *timers;
    const char *engine_id;
    const char *serves; /* parameters that say what the engine serves: "", or with an "&" first */
    enum link_transport transport;
};

/* `urls` is a comma list. NULL, after a line on standard error, when one makes no sense. Borrows
 * `client`, `user` and `secret`. */
struct link *link_create(struct http_client *client, const char *urls, const char *user,
                         const char *secret) must_check;
/* From now on it uses a WebSocket, unless it is to use the routes. */
void link_open_socket(struct link *link, const struct link_socket_settings *settings);
/* Returns whether it is open. */
bool link_has_socket(const struct link *link);
/* For the loop: the descriptor of the socket, -1: there is none; and its work, also without one. */
struct pollfd link_poll(const struct link *link);
void link_turn(struct link *link);
/* No claims come any more: the socket closes when what is under way has come. */
void link_leave(struct link *link);
/* Returns whether it has closed, and no claim is left that nobody took. */
bool link_has_left(const struct link *link);

/* The claim that came with a reply's `socket` is over for its slot. */
void link_end_claim(struct link *link, unsigned socket);

/* A piece of text that is shown before it is stored. Returns false, and does nothing, without an
 * open socket: use link_start. Otherwise `callback` runs, any number of times until
 * link_end_pieces: LINK_OK with `Next`, up to where text is stored; LINK_RETRY when the socket is
 * lost, so what is not stored must be sent again; otherwise as of give-partial. `lease` and `seq`
 * identify the query, and `context` is one per claim. */
bool link_send_piece(struct link *link, const json_t *lease, uint64_t seq, struct str body,
                     link_callback callback, void *context) must_check;
void link_end_pieces(struct link *link, const void *context);

/* Its calls must have ended. Accepts NULL. */
void link_destroy(struct link *link);

unsigned link_node_n(const struct link *link);
/* Without a slash at its end. */
const char *link_node_url(const struct link *link, unsigned i);

/* Copies `request`. The callback runs once, later, unless the call is cancelled. */
struct link_call *link_start(struct link *link, const struct link_request *request,
                             link_callback callback, void *context) must_check;
/* Accepts NULL. */
void link_cancel(struct link_call *call);

/* Growing pauses with full jitter between 0.2 and 15 s. Zeroed at the start and on success. */
struct backoff {
    unsigned failures;
};
/* The next pause; never less than `retry_after_s`. */
uint64_t backoff_next_ms(struct backoff *backoff, uint64_t retry_after_s);

#endif
