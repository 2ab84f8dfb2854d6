/* SPDX-License-Identifier: MIT
 *
 * websocket_client: one WebSocket from the client's side (RFC 6455), for commands with a poll loop
 * of their own. libcurl connects (proxies, TLS), wslay does the framing, pings are answered by
 * themselves. Text messages only. Single thread.
 *
 * websocket_client_open blocks, except that the caller's `wait` decides what else to wait for;
 * websocket_client_start waits for nothing and reports later. Nothing is tried again: only the
 * caller knows what the server has received. No callback may close the client.
 */
#ifndef PARLEY_HTTP_WEBSOCKET_CLIENT_H
#define PARLEY_HTTP_WEBSOCKET_CLIENT_H

#include "shared/base/buf.h"

struct http_client;
struct pollfd;
struct websocket_client;
struct websocket_client_fault;

enum { WEBSOCKET_CLIENT_REASON_BYTES = 512 };

struct websocket_client_settings {
    const char *user_agent;
    size_t message_max_bytes; /* of one received; 0: 1 MiB */
    /* The rest of the opening is for websocket_client_open. */
    uint64_t open_within_ms;
    /* Waits for the descriptor, or something else, at most `ms`. False: give up. */
    bool (*wait)(void *context, struct pollfd *fd, int ms);
    /* One whole message; valid inside the call. Runs inside websocket_client_turn. */
    void (*on_text)(void *context, struct str text);
    /* Reports once, for websocket_client_start: it is open, or a fault says why not and ends it. */
    void (*on_open)(void *context, const struct websocket_client_fault *fault);
    void *context;
};

/* The reason why it is not open. */
struct websocket_client_fault {
    int status; /* of the response; 0: there was none. 101: its handshake is wrong */
    char reason[WEBSOCKET_CLIENT_REASON_BYTES]; /* for people; of a problem, its `detail` */
};

/* Opens a WebSocket at `url` (http or https). `settings` must outlive it. NULL: it could not. */
struct websocket_client *websocket_client_open(const struct websocket_client_settings *settings,
                                               const char *url,
                                               struct websocket_client_fault *ret_fault) must_check;
/* The same without waiting: `http` connects, turns do the rest, and on_open reports, inside
 * http_client_turn or websocket_client_turn. `settings` and `http` must outlive it. Nothing may be
 * sent until it is open. */
struct websocket_client *websocket_client_start(const struct websocket_client_settings *settings,
                                                struct http_client *http,
                                                const char *url) must_check;
/* Ends it, with a close frame if it is still open. Accepts NULL. */
void websocket_client_close(struct websocket_client *client);
/* Queues a close frame. Messages still arrive, until the server has closed its side. */
void websocket_client_finish(struct websocket_client *client);

/* Copies a text message to be sent by the following turns. */
void websocket_client_send(struct websocket_client *client, struct str text);
/* The bytes of messages that wait to be written. */
size_t websocket_client_queued_bytes(const struct websocket_client *client);
/* The descriptor, -1 while it connects, and the events to poll for. */
struct pollfd websocket_client_poll(const struct websocket_client *client);
/* Reads and writes what can be without waiting. False: it is over. */
bool websocket_client_turn(struct websocket_client *client) must_check;
/* Returns the time of the last byte received, on the monotonic clock. */
uint64_t websocket_client_heard_ms(const struct websocket_client *client);
/* Once it is over: the code of the server's close frame, or 1006. */
unsigned websocket_client_code(const struct websocket_client *client);

#endif
