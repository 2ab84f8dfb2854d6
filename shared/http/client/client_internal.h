/* SPDX-License-Identifier: MIT
 *
 * client_internal: shared by the files of the HTTP client: client.c (the multi handle, sockets, the
 * timer, lists of calls) and client_call.c (one transfer: its options, its body, its outcome).
 */
#ifndef PARLEY_HTTP_CLIENT_INTERNAL_H
#define PARLEY_HTTP_CLIENT_INTERNAL_H

#include "shared/base/list.h"
#include "shared/http/client/client.h"
#include "shared/op/loop.h"

#include <curl/curl.h>

enum call_state { CALL_FRESH, CALL_RUNNING, CALL_ENDED, CALL_STATE_NR };

struct http_call {
    struct http_client *client;
    struct list_link link; /* of its state */
    enum call_state state;
    uint64_t number; /* for the log of its states */
    CURL *easy;
    struct curl_slist *headers;
    const struct http_events *events;
    void *context;
    struct buf request_body, body;
    size_t received_bytes;
    bool is_peer_refused, is_stopped, is_too_large, is_connection;
    char error[CURL_ERROR_SIZE];
};

struct http_client {
    CURLM *multi;
    int epoll_fd, timer_fd;
    struct http_client_settings settings;
    struct list calls[CALL_STATE_NR]; /* struct http_call, by state */
    uint64_t due_ms;                  /* when libcurl wants to run; 0: not at all */
    h2o_socket_t *notifier;           /* on an h2o loop, else NULL */
};

/* client.c: puts a call that is on no list on the list of its state, for the next pass. */
void client_put_call(struct http_call *call);
/* Moves a call that is on no list. */
void client_move_call(struct http_call *call, enum call_state to);

/* client_call.c */
void call_free(struct http_call *call);
/* libcurl has finished: removes the call from its list, notifies its owner unless cancelled, and
 * frees it.
 */
void call_finish(struct http_call *call, CURLcode code);

#endif
