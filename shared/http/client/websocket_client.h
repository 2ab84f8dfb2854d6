/* SPDX-License-Identifier: MIT
 *
 * websocket_client: one WebSocket from the client's side (RFC 6455), for commands with a poll loop
 * of their own. libcurl connects (proxies, TLS), wslay does the framing, pings are answered by
 * themselves. Text messages only. Single thread.
 *
 * Opening blocks, except that the caller's `wait` decides what else to wait for. Nothing is tried
 * again: only the caller knows what the server has received.
 */
#ifndef PARLEY_HTTP_WEBSOCKET_CLIENT_H
#define PARLEY_HTTP_WEBSOCKET_CLIENT_H

#include "shared/base/buf.h"

struct pollfd;
struct websocket_client;

enum { WEBSOCKET_CLIENT_REASON_BYTES = 512 };

struct websocket_client_settings {
    const char *user_agent;
    uint64_t open_within_ms;
    /* Waits for the descriptor, or something else, at most `ms`. False: give up. */
    bool (*wait)(void *context, struct pollfd *fd, int ms);
    /* One whole message; valid inside the call. Runs inside websocket_client_turn. */
    void (*on_text)(void *context, struct str text);
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
/* Ends it, with a close frame if it is still open. Accepts NULL. */
void websocket_client_close(struct websocket_client *client);

/* Copies a text message to be sent by the following turns. */
void websocket_client_send(struct websocket_client *client, struct str text);
/* The descriptor and the events to poll for. */
struct pollfd websocket_client_poll(const struct websocket_client *client);
/* Reads and writes what can be without waiting. False: it is over. */
bool websocket_client_turn(struct websocket_client *client) must_check;
/* Returns the time of the last byte received, on the monotonic clock. */
uint64_t websocket_client_heard_ms(const struct websocket_client *client);
/* Once it is over: the code of the server's close frame, or 1006. */
unsigned websocket_client_code(const struct websocket_client *client);

#endif
