/* SPDX-License-Identifier: MIT
 *
 * route: describes a route: its method and path, who may call it, and how large its bodies may be.
 * Tables of routes are constants of the services; router.h finds the route of a request.
 */
#ifndef PARLEY_HTTP_ROUTE_H
#define PARLEY_HTTP_ROUTE_H

#include "shared/auth/accounts.h"
#include "shared/http/request/problem.h"

struct request;
struct server;
typedef void handler(struct request *r);

/* The meaning of a route's request to the audit log (audit.h). */
enum audit_event {
    AUDIT_NONE,
    AUDIT_QUERY_REOPENED,
    AUDIT_ENGINE_DRAINED, /* or given work again */
    AUDIT_RECOMMENDATION_DELETED,
    AUDIT_TOPIC_DELETED,
    AUDIT_USER_DELETED,
    AUDIT_DOCUMENT_DELETED,
    AUDIT_BOT_DELETED,
    AUDIT_ROOM_DELETED,
    AUDIT_FILE_DELETED,
    AUDIT_RESPONSE_DELETED,
    AUDIT_COMPLETION_DELETED,
    AUDIT_BATCH_CANCELLED,
    AUDIT_EVENT_NR
};

/* The roles that may call a route: a mask of 1 << enum role, or ROLES_NONE for everybody, without
 * proof. */
enum { ROLES_NONE = 0, ROLES_ALL = (1 << ROLE_NR) - 1 };

struct route {
    const char *method, *path; /* a path may have `{name}` segments, see router.h */
    unsigned roles;
    handler *handle;
    bool takes_signed_body; /* User, Nonce and Hash may be in a JSON body */
    bool takes_token_param; /* a bearer token may be in the parameter `token` */
    bool takes_api_key;     /* `sk-...` or `<account>:<secret>`, as x-api-key or Bearer, too */
    bool takes_basic;       /* `Authorization: Basic` proves an account with a hashed secret */
    bool takes_key;         /* it creates something, once for each Idempotency-Key (once.h) */
    /* For a route whose handler checks the header X-CALLER-KEY: returns whether its value is a key
     * that this cluster has made, so that the body may be as large as the route's. NULL: it takes
     * none. */
    bool (*is_caller_key)(const struct server *server, struct str key);
    /* Returns whether this request, which has no credentials, is handled all the same, without an
     * account. NULL: it is not. */
    bool (*is_open)(const struct request *r);
    /* A GET that hands something out, a claim or a socket: it takes no HEAD, as all
     * others do. */
    bool hands_out;
    /* A GET that may be held: the same signed request is served once more if it is lost
     * (held_nonces.h). */
    bool is_held;
    /* Paths of its folder ("/v1" of "/v1/models") that have no route get errors as it writes them.
     */
    bool speaks_for_folder;
    bool uses_nonce_itself; /* with several shards; otherwise it is used up before the handler
                             * runs */
    /* A GET whose answer is sent even if clients have left too much unread, because it hands work
     * over or is for operators. Long answers to others become 503 then. */
    bool is_always_sent;
    /* Maximum body; 0: the server's (struct server_config). A route without roles takes at most
     * ADMIT_PUBLIC_BYTES (admit.h). */
    size_t body_max_bytes;
    const size_t *body_setting;  /* the same from a setting, read before there is a server */
    enum err too_large;          /* error for larger bodies; ERR_OK: ERR_TOO_LARGE */
    problem_writer *put_problem; /* writes its errors; NULL: problem_put */
    /* Puts more parameters of the Bearer challenge of its 401, each after a comma; NULL: none. */
    void (*put_challenge)(const struct request *r, struct buf *out);
    enum audit_event audit;
};

/* The largest body that the route takes, and from anonymous clients; the error for a larger one. */
size_t route_body_max(const struct server *server, const struct route *route);
size_t route_anonymous_max(const struct server *server, const struct route *route);
enum err route_too_large(const struct route *route);

#endif
