/* SPDX-License-Identifier: MIT
 *
 * request: one HTTP request as handlers see it. It lives in the request's own memory pool until
 * libh2o disposes of the request: after the answer was written, or when the client left. A handler
 * answers exactly once through respond.h, immediately or later. All on the loop's thread.
 *
 * If you keep a request past this pass, set `on_gone`. Calls of request_call are detached
 * automatically.
 */
#ifndef PARLEY_HTTP_REQUEST_H
#define PARLEY_HTTP_REQUEST_H

#include "shared/auth/accounts.h"
#include "shared/base/json_scan.h"
#include "shared/http/request/route.h"
#include "shared/http/request/server.h"
#include "shared/http/wire/exchange.h"
#include "shared/redis/turn.h"

struct request;
/* The claims of a provider's token, except the account's name; in the request's pool. */
struct identity {
    struct str username;
    struct str email;      /* `at == NULL` when unknown */
    struct str roles_json; /* a JSON list of texts */
};

struct gather;
struct held_answer;
struct inner;
struct once;
struct request_call;
struct stream;

/* A query parameter as sent. `value.at` is NULL without '='. */
struct param {
    struct str name, value;
};

/* The subject of a request, for its log line. */
struct request_subject {
    struct str topic; /* a name; at == NULL: nothing, or nothing that is known */
    uint64_t seq;     /* 0: unknown, or several */
    /* The id of the request that added the query; at == NULL: unknown, several, or this one. */
    struct str added_by;
};

struct request {
    struct exchange exchange; /* its connection and its client */
    struct server *server;
    const struct route *route;
    /* NULL on routes without roles, and where is_open allows it. For a provider's token it is
     * created for this request: role user, name = `sub`. */
    const struct account *account;
    const struct identity *identity; /* of a provider's token; NULL for our own accounts */
    struct nonce_id nonce;           /* used up by the request's first verb, or before its answer */
    uint64_t expires_s;              /* `exp` of its token, seconds since 1970; 0: a signature */
    enum err rejection;              /* error to answer once it is authenticated; ERR_OK: none */
    enum err revoked; /* why its right has ended (request_revoke); ERR_OK: it has not */
    const char *rejection_detail;
    struct list_link link;       /* of the server's that have an account */
    struct fair_entry body_turn; /* at its handler, with a long body (handle.c) */
    struct steps handling;       /* runs that then, or what it has begun */
    struct str path;             /* as sent, without the query */
    struct str query;            /* raw query string, without '?' */
    struct str id;               /* X-Request-Id */
    struct str peer;             /* address of the client, from trusted proxies if any */
    uint64_t start_us;
    struct request_subject about; /* set by handlers; lives as long as the request */
    bool is_signed;               /* authenticated by User, Nonce and Hash */
    bool has_secret;              /* authenticated by the secret itself, in the clear */
    bool is_cut;                  /* refused by its head: the body was not read, no handler runs */
    bool is_behind;               /* its queries wait behind all others (lua/queue/behind.lua) */
    bool is_withdrawn;            /* nobody sends it again (inner_withdraw) */
    bool was_parked;              /* its duration is the wait of a long poll */
    bool is_nonce_held;           /* as reported to Redis, see held_nonces.h */
    char *nonce_mark;             /* of held_nonces.c; NULL: none */
    struct param *params;         /* of the query; NULL before the first access */
    size_t param_n;
    struct json_member *members; /* of the body, once request_body has read it; NULL before */
    size_t member_n;
    struct request_call *calls; /* all its call handles, in use or free */
    unsigned replied_shard;     /* inside a reply: of request_call_at */
    struct gather *gather;      /* gather.h; NULL: nothing was gathered */
    struct once *once;          /* once.h; NULL: it has no key, or was not handled yet */
    struct held_answer *held;   /* an answer that waits for the nonce (respond.c) */
    struct stream *stream;      /* that has started; valid inside on_revoked */
    struct inner *inner;        /* inner.h: who gets its answer; NULL: a client */
    /* Ends the stream when the right has ended (request_revoke); NULL: there is none. */
    void (*on_revoked)(struct request *r);
    /* Runs once when libh2o disposes of the request, answered or not; may be NULL. The request's
     * memory is still valid inside it. */
    void (*on_gone)(struct request *r);
    void *state; /* owned by the handler */
};

/* Creates a request, in its own pool, from what libh2o has read. Its route is not known yet. */
struct request *request_create(struct server *server, h2o_req_t *h2o) must_check;

/* Runs the handler of a request, which is authenticated by now if its route requires that. */
void request_admit(struct request *r);

/* Returns the id of a request that was not started: the client's X-Request-Id if it is valid,
 * otherwise a new one, in the request's pool. */
struct str request_id_of(struct server *server, h2o_req_t *h2o);

/* Splits a request target, even one in absolute form (`http://host/path?query`, RFC 9112, 3.2.2),
 * into path and query. Both borrow from it, or from a constant; without '?' the query's `at` is
 * NULL. */
void request_split_target(struct str target, struct str *ret_path, struct str *ret_query);

/* Returns its body; empty, but never NULL, without one. */
static inline struct str request_entity(const struct request *r)
{
    const h2o_iovec_t *entity = &r->exchange.h2o->entity;
    return (struct str){entity->base == NULL ? "" : entity->base, entity->len};
}
/* HTTP/1: closes its connection after the answer. */
static inline void request_end_connection(struct request *r)
{
    r->exchange.h2o->http1_is_persistent = 0;
}

/* Returns whether only the head of the answer is wanted: nothing is held or streamed for it. The
 * rest is left out by respond.h. */
static inline bool request_is_head(const struct request *r)
{
    return h2o_memis(r->exchange.h2o->method.base, r->exchange.h2o->method.len, H2O_STRLIT("HEAD"));
}

/* Memory from the request's pool: never NULL, freed with the request, not zeroed. */
void *request_alloc(struct request *r, size_t bytes);
struct str request_copy(struct request *r, struct str s);

/* Returns the value of the route's path segment `{name}`, decoded: never empty, valid UTF-8 without
 * NUL (other paths get 400), but it may contain any other character, including '/'. The route must
 * have such a segment. */
struct str request_path_param(struct request *r, const char *name);
/* Returns the first query parameter `name`, decoded ('+' is a space); `at == NULL` if absent. Valid
 * UTF-8 without NUL: other queries get 400. Lives as long as the request. */
struct str request_param(struct request *r, const char *name);
/* The same with '+' kept, for names that never contain white space. */
struct str request_param_plus(struct request *r, const char *name);
/* Returns the second parameter of that name, because the first `User` is the signing account. */
struct str request_second_param(struct request *r, const char *name);
/* Reads a whole number. Absent: `fallback`. Answers 400 and returns false if it is not a number or
 * out of range. */
bool request_param_u64(struct request *r, const char *name, uint64_t min, uint64_t max,
                       uint64_t fallback, uint64_t *ret_value) must_check;
bool request_param_is_true(struct request *r, const char *name);
/* Returns the header `name` (lower case); `at == NULL` when absent. */
struct str request_header(struct request *r, const char *name);

/* Reads the body as a JSON object into r->members. Answers 400 and returns false otherwise. */
bool request_body(struct request *r) must_check;
/* Returns the body member `name`; NULL if it is absent or null. */
const struct json_span *request_member(struct request *r, const char *name);
/* Its text if it is a string, otherwise `at == NULL`. Lives as long as the request. */
struct str request_member_text(struct request *r, const char *name);
/* Read typed members. On a wrong type, length (in bytes) or absence they answer 400, which names
 * the member, and return false. An absent optional text has `at == NULL`, an absent optional bool
 * is `fallback`. */
bool request_text(struct request *r, const char *name, size_t min, size_t max,
                  struct str *ret_text) must_check;
bool request_optional_text(struct request *r, const char *name, size_t max,
                           struct str *ret_text) must_check;
bool request_number(struct request *r, const char *name, int64_t min, int64_t max,
                    int64_t *ret_number) must_check;
bool request_optional_bool(struct request *r, const char *name, bool fallback,
                           bool *ret_value) must_check;

/* Returns a handle to start one verb for the request, with its nonce unless that is used up; start
 * it before requesting another. Any number may be in progress. All are detached when libh2o
 * disposes of the request, so the request always exists in `on_reply`. If the nonce turns out to be
 * used, the request is answered with that error and none of its callbacks run any more. `error` and
 * `reply` are those of call.h. */
typedef void request_reply_cb(struct request *r, enum err error, struct str reply);
struct call_start request_call(struct request *r, request_reply_cb *on_reply);
/* The same on one shard, for verbs of home `every`; inside `on_reply` it is `r->replied_shard`. */
struct call_start request_call_at(struct request *r, unsigned shard, request_reply_cb *on_reply);
/* Uses up the nonce and nothing else; calls under way are detached, as if the client had left. */
void request_use_nonce(struct request *r, request_reply_cb *on_reply);
/* Detaches all calls that are under way, so no reply is waited for. */
void request_detach(struct request *r);
/* Uses up the nonce; the route's handler then runs again, without one. */
void request_handle_after_nonce(struct request *r);
/* Handles a reply that says that the nonce was used before: answers with 401, or begins again
 * (held_nonces.h).
 */
void request_on_replay(struct request *r);
/* Ends what its handler has begun, as if the client had left. */
void request_end_handler(struct request *r);
/* Runs the route's handler, which has not begun or was ended: later, if its body is long. */
void request_handle(struct request *r);
/* Marks the request as waiting: its duration is a wait, and it may be sent again if it is lost. */
void request_park(struct request *r);

/* `listener` runs at most once, from the loop: when the client closes its side of the connection
 * before the answer or the end of the stream, or when the account loses its right (rights.h); not
 * for earlier events (`has_left`, `revoked`). A waiting handler then answers: a client that only
 * closed its sending side still reads the answer, and writing to one that is gone makes libh2o
 * dispose of the request later. Not for HTTP/2, where `on_gone` runs at once. */
void request_on_left(struct request *r, struct left_listener *listener);
/* Stops listening, for owners that end before their request. Does nothing if `listener` no longer
 * listens. */
void request_off_left(struct request *r, struct left_listener *listener);
/* Returns whether the client has left: checks the socket, which knows it before listeners run. */
bool request_client_left(struct request *r);
/* Returns, for on_gone of an answered request, whether the client refused bytes of the answer. A
 * client that closes after reading the whole answer is not a failure. */
bool request_write_failed(struct request *r);

/* Revokes a request whose account has lost its right (ERR_REVOKED) or whose token has expired
 * (ERR_TOKEN_EXPIRED). A stream ends with an `error` event, a waiting handler is notified as if the
 * client had left, and everything else gets that answer when it is done. */
void request_revoke(struct request *r, enum err why);

/* Returns whether a log line of the request will be written when it is answered. */
bool request_is_logged(const struct request *r);
/* Notes which request added the query that it is about, for that line; `id` is copied if it is
 * written, and ignored if its `at` is NULL. */
void request_note_added_by(struct request *r, struct str id);

#endif
