/* SPDX-License-Identifier: MIT
 *
 * link: signed requests to the nodes that the engine pulls from. It knows their addresses and which
 * of them respond, signs each retry with a new nonce, and reads replies. One per engine; single
 * thread, on the loop that turns its HTTP client.
 */
#ifndef PARLEY_SERVICES_ENGINE_LINK_LINK_H
#define PARLEY_SERVICES_ENGINE_LINK_LINK_H

#include "shared/base/json.h"
#include "shared/http/client/client.h"

enum { LINK_URLS_MAX = 16 };

struct link;
struct link_call;

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
};

typedef void (*link_callback)(void *context, const struct link_reply *reply);

struct link_request {
    const char *path;      /* "/api/get-new-queries" */
    struct str query;      /* more parameters, encoded, or empty */
    struct str body;       /* JSON of a POST; `at == NULL`: a GET */
    struct str request_id; /* sent as X-Request-Id; `at == NULL`: none */
    uint64_t timeout_ms;
    unsigned home; /* which node to prefer, so that slots spread over them */
    bool is_probe; /* only this node, whatever its state; nothing is logged or recorded */
};

/* `urls` is a comma list. NULL, after a line on standard error, when one makes no sense. Borrows
 * `client`, `user` and `secret`. */
struct link *link_create(struct http_client *client, const char *urls, const char *user,
                         const char *secret) must_check;
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
