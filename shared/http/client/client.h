/* SPDX-License-Identifier: MIT
 *
 * client: asynchronous HTTP(S) requests, many at a time, on libcurl's multi interface. One client
 * per thread; nothing is shared between clients. A client exposes one file descriptor for
 * everything it waits for, so it works with any loop: `http_client_attach` puts it on ours
 * (op/loop.h), other loops poll `http_client_fd` and call `http_client_turn`, and a thread without
 * a loop calls `http_client_wait`.
 *
 * It never follows redirects (a 3xx is an ordinary response), supports only http and https, and
 * does not retry: only the caller knows whether a retry is safe. Compressed bodies are decoded
 * although none are asked for; all limits are of the decoded bytes.
 *
 * Callbacks run on the thread that turns the client, never before http_call_start returns. They may
 * start and cancel any call but must not destroy the client.
 */
#ifndef PARLEY_HTTP_CLIENT_H
#define PARLEY_HTTP_CLIENT_H

#include "shared/base/buf.h"

struct http_client;
struct http_call;
struct loop;

struct http_client_settings {
    const char *user_agent;      /* borrowed until destroy; NULL: none is sent */
    uint64_t connect_timeout_ms; /* 0: 5000 */
    /* Refuses loopback, private, link-local and other special addresses after DNS, for URLs chosen
     * by untrusted users. Environment proxies are then ignored, because they would resolve names
     * for us. */
    bool is_refusing_private;
};

struct http_request {
    const char *method; /* NULL: GET, or POST when there is a body */
    const char *url;
    const char *const *headers; /* "Name: value", NULL ends; may be NULL */
    struct str body;            /* `at == NULL`: none */
    uint64_t timeout_ms;        /* for the whole exchange; 0: none */
    uint64_t idle_timeout_s;    /* without a single byte; 0: none */
    /* Only connects, with TLS for https. on_done then gets HTTP_ANSWERED without a status, and the
     * call lives until it is cancelled: http_call_curl. */
    bool is_connection;
    /* Maximum body of the response; 0: 1 MiB. With on_body, data not passed to it is limited to 1
     * MiB. */
    size_t body_max_bytes;
};

enum http_outcome {
    HTTP_ANSWERED,     /* a complete response with any status */
    HTTP_UNREACHABLE,  /* no connection: the request was not sent */
    HTTP_LOST,         /* cut off: the request may have been served */
    HTTP_TIMED_OUT,    /* the same, by a deadline */
    HTTP_TOO_LARGE,    /* the response is past body_max_bytes */
    HTTP_REFUSED_PEER, /* a private address, see is_refusing_private */
    HTTP_BAD_URL,
    HTTP_STOPPED, /* on_body returned false */
    HTTP_OUTCOME_NR
};

/* Valid inside on_done only. */
struct http_response {
    enum http_outcome outcome;
    int status;              /* 0 when none came */
    struct str body;         /* without a byte order mark; empty where on_body took it */
    struct str content_type; /* empty when unknown */
    uint64_t retry_after_s;  /* 0: none */
    const char *reason;      /* what went wrong, for logs; "" when answered */
};

struct http_events {
    /* Optional: receives the body of a 2xx response in pieces instead of `response.body`. Returning
     * false ends the call with HTTP_STOPPED. */
    bool (*on_body)(void *context, struct str content_type, struct str bytes);
    /* Runs exactly once unless the call is cancelled; the call is freed when it returns, except for
     * a connection. */
    void (*on_done)(void *context, const struct http_response *response);
};

/* The word for logs. */
const char *http_outcome_name(enum http_outcome outcome);

/* `settings` may be NULL: all defaults. Aborts if memory or descriptors run out. */
struct http_client *http_client_create(const struct http_client_settings *settings) must_check;
/* Ends every call without its on_done. Accepts NULL. Not from inside a callback. */
void http_client_destroy(struct http_client *client);

/* Readable if http_client_turn has work. Owned by the client. */
int http_client_fd(const struct http_client *client);
/* Does all work that needs no waiting and runs callbacks. */
void http_client_turn(struct http_client *client);
/* Waits up to `timeout_ms` for work, then turns once. */
void http_client_wait(struct http_client *client, int timeout_ms);
/* Puts the client on a loop of shared/op: from then on the loop turns it. At most once; the loop
 * must outlive the client. */
void http_client_attach(struct http_client *client, struct loop *loop);

/* Starts a request; copies all of `request`. `events` must outlive the call. An invalid URL is also
 * reported through on_done. The pointer is valid until on_done returns. */
struct http_call *http_call_start(struct http_client *client, const struct http_request *request,
                                  const struct http_events *events, void *context) must_check;
/* Ends the call; none of its callbacks run any more. Accepts NULL. */
void http_call_cancel(struct http_call *call);
/* The handle of libcurl whose connection is there, for curl_easy_send and curl_easy_recv. */
void *http_call_curl(const struct http_call *call);

#endif
