/* SPDX-License-Identifier: MIT
 *
 * request: one HTTP request as handlers see it. It lives in the request's own memory pool until
 * libh2o disposes of the request: after the answer was written, or when the client left. A handler
 * answers exactly once through respond.h, immediately or later. All on the loop's thread.
 *
 * If you keep a request past this turn, set `on_gone`. Calls of request_call are detached
 * automatically.
 */
#ifndef PARLEY_HTTP_REQUEST_H
#define PARLEY_HTTP_REQUEST_H

#include "shared/auth/accounts.h"
#include "shared/base/json_scan.h"
#include "shared/http/request/problem.h"
#include "shared/http/server/server.h"
#include "shared/redis/turn.h"

struct request;
typedef void handler(struct request *r);

/* What a route's request means to the audit log (audit.h). */
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
    AUDIT_EVENT_NR
};

/* Who may call a route: a mask of 1 << enum role, or ROLES_NONE for everybody, without proof. */
enum { ROLES_NONE = 0, ROLES_ALL = (1 << ROLE_NR) - 1 };

struct route {
    const char *method, *path; /* a path may have `{name}` segments, see router.h */
    unsigned roles;
    handler *handle;
    bool takes_signed_body; /* User, Nonce and Hash may be in a JSON body */
    bool takes_token_param; /* a bearer token may be in the parameter `token` */
    bool takes_api_key;     /* `x-api-key: <account>:<secret>` proves the account, too */
    bool takes_basic;       /* `Authorization: Basic` proves an account with a hashed secret */
    bool takes_key;         /* it creates something, once for each Idempotency-Key (once.h) */
    /* Of a route whose handler checks the header X-CALLER-KEY: whether its value is a key that this
     * cluster has made, so that the body may be as large as the route's. NULL: it takes none. */
    bool (*is_caller_key)(const struct server *server, struct str key);
    /* Whether this request, which has no credentials, is handled all the same, without an account.
     * NULL: it is not. */
    bool (*is_open)(const struct request *r);
    /* A GET that hands something to whoever asks, a claim or a socket: it takes no HEAD, as all
     * others do. */
    bool hands_out;
    /* A GET that may be held: the same signed request is served once more if it is lost
     * (held_nonces.h). */
    bool is_held;
    bool uses_nonce_itself; /* with several shards; otherwise it is used up before the handler
                             * runs */
    /* A GET whose answer is sent even if clients have left too much unread, because it hands work
     * over or is for operators. Long answers to others become 503 then. */
    bool is_always_sent;
    /* Maximum body; 0: the server's (struct server_config). A route without roles takes at most
     * ADMIT_PUBLIC_BYTES (admit.h). */
    size_t body_max_bytes;
    enum err too_large;          /* error for larger bodies; ERR_OK: ERR_TOO_LARGE */
    problem_writer *put_problem; /* writes its errors; NULL: problem_put */
    enum audit_event audit;
};

/* Claims of a provider's token besides the account's name; in the request's pool. */
struct identity {
    struct str username;
    struct str email;      /* `at == NULL` when unknown */
    struct str roles_json; /* a JSON list of texts */
};

struct connection;
struct held_answer;

/* The lists that an unread answer is in: of its thread, and of its client's address. */
enum { UNREAD_OF_THREAD, UNREAD_OF_ADDRESS, UNREAD_LIST_NR };

/* What is held of its answer until the client has read it (connection.h). */
struct unread {
    size_t bytes;      /* that count: 0 up to 16 KiB */
    size_t gathered;   /* while the answer is put together: what it takes so far */
    bool is_listed;    /* it is being sent */
    uint64_t since_ms; /* when it began to wait, or was looked at and being read */
    struct {
        struct unread *older, *newer;
    } in[UNREAD_LIST_NR]; /* while it is listed */
};

struct gather;
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

/* Notified when a client has left. In its owner's memory; zeroed initially. */
struct left_listener {
    struct left_listener *next; /* of the request's */
    void (*on_left)(struct left_listener *listener);
};

struct request {
    h2o_req_t *h2o;
    struct server *server;
    const struct route *route;
    /* NULL on routes without roles, and where is_open allows it. For a provider's token it is
     * created for this request: role user, name = `sub`. */
    const struct account *account;
    const struct identity *identity; /* of a provider's token; NULL for our own accounts */
    struct nonce_id nonce;           /* used up by the request's first verb, or before its answer */
    uint64_t expires_s;              /* `exp` of its token, seconds since 1970; 0: a signature */
    enum err objection;              /* error to answer once it is authenticated; ERR_OK: none */
    enum err revoked;                /* why its right has ended (rights.h); ERR_OK: it has not */
    const char *objection_detail;
    struct request *previous, *next; /* of the server's that have an account (rights.h) */
    struct fair_entry body_turn;     /* at its handler, with a long body (request.c) */
    struct steps handling;           /* runs that then, or what it has begun */
    struct str path;                 /* as sent, without the query */
    struct str query;                /* raw query string, without '?' */
    struct str id;                   /* X-Request-Id */
    struct str peer;                 /* address of the client, from trusted proxies if any */
    uint64_t start_us;
    struct request_subject about; /* set by handlers; lives as long as the request */
    bool is_listed;               /* in the server's list (rights.h) */
    bool is_signed;               /* proved by User, Nonce and Hash */
    bool has_secret;              /* proved by the secret itself, in the clear */
    bool is_answered;
    bool is_stream;       /* the answer is being streamed */
    bool has_left;        /* the client has left and listeners were called */
    bool is_cut;          /* refused by its head: the body was not read, no handler runs */
    bool pauses;          /* HTTP/2: its connection is not read before its answer */
    bool is_unread;       /* HTTP/2: from a stranger, answer not yet written */
    bool was_parked;      /* its duration is the wait of a long poll */
    bool is_nonce_held;   /* as Redis is told, see held_nonces.h */
    char *nonce_mark;     /* of held_nonces.c; NULL: none */
    struct param *params; /* of the query; NULL before the first access */
    size_t param_n;
    struct json_member *members; /* of the body, once request_body has read it; NULL before */
    size_t member_n;
    struct request_call *calls; /* all its call handles, in use or free */
    unsigned replied_shard;     /* inside a reply: of request_call_at */
    struct gather *gather;      /* gather.h; NULL: nothing was gathered */
    struct once *once;          /* once.h; NULL: it has no key, or was not handled yet */
    struct left_listener *left;
    struct held_answer *held; /* an answer that waits for the nonce (respond.c) */
    struct stream *stream;    /* once it has started */
    struct connection *connection;
    size_t held_bytes, unproven_bytes; /* counted for its body (connection.h) */
    struct unread unread;
    /* Runs once when libh2o disposes of the request, answered or not; may be NULL. The request's
     * memory is still valid inside it. */
    void (*on_gone)(struct request *r);
    void *state; /* owned by the handler */
};

/* Creates the request for `h2o` and finds its route; runs the handler or answers with an error. */
void request_start(struct server *server, h2o_req_t *h2o);

/* Continues with a request that is authenticated, if its route requires that: runs the handler.
 */
void request_admit(struct request *r);

/* The id of a request that was not started: the client's X-Request-Id if it is valid, otherwise a
 * new one, in the request's pool. */
struct str request_id_of(struct server *server, h2o_req_t *h2o);

/* Splits a request target, also one in absolute form (`http://host/path?query`, RFC 9112, 3.2.2),
 * into path and query. Both borrow from it, or from a constant; without '?' the query's `at` is
 * NULL. */
void request_split_target(struct str target, struct str *ret_path, struct str *ret_query);

/* Whether only the head of the answer is wanted: nothing is held or streamed for it. The rest is
 * left out by respond.h. */
static inline bool request_is_head(const struct request *r)
{
    return h2o_memis(r->h2o->method.base, r->h2o->method.len, H2O_STRLIT("HEAD"));
}

/* Memory from the request's pool: never NULL, freed with the request, not zeroed. */
void *request_alloc(struct request *r, size_t bytes);
struct str request_copy(struct request *r, struct str s);

/* The value of the route's path segment `{name}`, decoded: never empty, valid UTF-8 without NUL
 * (other paths get 400), but it may contain any other character, including '/'. The route must have
 * such a segment. */
struct str request_path_param(struct request *r, const char *name);
/* The first query parameter `name`, decoded ('+' is a space); `at == NULL` if absent. Valid UTF-8
 * without NUL: other queries get 400. Lives as long as the request. */
struct str request_param(struct request *r, const char *name);
/* The same with '+' kept, for names that never contain white space. */
struct str request_param_plus(struct request *r, const char *name);
/* The second parameter of that name: `User` is also the signing account. */
struct str request_second_param(struct request *r, const char *name);
/* Reads a whole number. Absent: `fallback`. Answers 400 and returns false if it is not a number or
 * out of range. */
bool request_param_u64(struct request *r, const char *name, uint64_t min, uint64_t max,
                       uint64_t fallback, uint64_t *ret_value) must_check;
bool request_param_is_true(struct request *r, const char *name);
/* The header `name` (lower case); `at == NULL` when absent. */
struct str request_header(struct request *r, const char *name);

/* Reads the body as a JSON object into r->members. Answers 400 and returns false otherwise. */
bool request_body(struct request *r) must_check;
/* The body member `name`; NULL if it is absent or null. */
const struct json_span *request_member(struct request *r, const char *name);
/* Its text if it is a string, otherwise `at == NULL`. Lives as long as the request. */
struct str request_member_text(struct request *r, const char *name);
/* Typed members. On a wrong type, length (in bytes) or absence they answer 400 naming the member
 * and return false. An absent optional text has `at == NULL`, an absent optional bool is
 * `fallback`. */
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
/* No reply is waited for any more: what is under way is detached. */
void request_detach(struct request *r);
/* The same with several shards: the route's handler then runs again, without a nonce. */
void request_handle_after_nonce(struct request *r);
/* A reply says that the nonce was used before: answers with 401, or begins again (held_nonces.h).
 */
void request_on_replay(struct request *r);
/* Ends what its handler has begun, as if the client had left. */
void request_end_handler(struct request *r);
/* Runs the route's handler, which has not begun or was ended: later, if its body is long. */
void request_handle(struct request *r);
/* The request waits from now on: its duration is a wait, and it may be sent again if it is lost. */
void request_park(struct request *r);

/* `listener` runs at most once, from the loop: when the client closes its side of the connection
 * before the answer or the end of the stream, or when the account loses its right (rights.h); not
 * for earlier events (`has_left`, `revoked`). A waiting handler then answers: a client that only
 * closed its sending side still reads the answer, and writing to one that is gone makes libh2o
 * dispose of the request later. Not for HTTP/2, where `on_gone` runs at once. */
void request_on_left(struct request *r, struct left_listener *listener);
/* For owners that end before their request. Does nothing if it no longer listens. */
void request_off_left(struct request *r, struct left_listener *listener);
/* Whether the client has left: checks the socket, which knows it before listeners run. */
bool request_client_left(struct request *r);
/* For on_gone of an answered request: whether the client refused bytes of the answer. A client that
 * closes after reading the whole answer is not a failure. */
bool request_write_failed(struct request *r);

/* Whether a log line of the request will be written when it is answered. */
bool request_is_logged(const struct request *r);
/* Notes who added the query that it is about, for that line; `id` is copied if it is written, and
 * ignored if its `at` is NULL. */
void request_note_added_by(struct request *r, struct str id);

#endif
