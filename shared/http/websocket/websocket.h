/* SPDX-License-Identifier: MIT
 *
 * websocket: turns a request into a WebSocket (RFC 6455), with text messages in and out. wslay does
 * the framing; this module does the handshake, the socket and the limits: message size, time for a
 * message, data waiting for a slow reader, silence of a peer, sockets of an account.
 *
 *   (request) --websocket_accept--> UPGRADING --101 written--> OPEN
 *   OPEN --websocket_close, the peer, drain--> CLOSING --close frame written--> LINGERING
 *   LINGERING --the peer has closed too, or 5 s--> GONE, on_closed
 *   (any) --cut off--> GONE, on_closed
 *
 * One per connection, created by an HTTP/1.1 request, used on the loop's thread only. It has its
 * own memory: the request is gone soon after the upgrade, so `arg` must not be in the request's
 * memory. The server's drain waits until it is gone. It is closed with WEBSOCKET_POLICY when its
 * account loses its right or its token expires (rights.h). Each message counts against max_rate of
 * its account (rates.h): a socket that is faster is read later.
 */
#ifndef PARLEY_HTTP_WEBSOCKET_H
#define PARLEY_HTTP_WEBSOCKET_H

#include "shared/http/request/request.h"

struct websocket;
struct websocket_owner;

enum { WEBSOCKET_OWNER_BUCKETS = 256 };
/* All WebSockets of a server. */
struct websockets {
    struct list list; /* struct websocket */
    size_t open_n;
    size_t queued_bytes; /* that wait for readers */
    size_t owner_n;
    struct websocket_owner *owners[WEBSOCKET_OWNER_BUCKETS];
};
struct websockets *websockets_create(void) must_check;
void websockets_destroy(struct websockets *websockets);

/* Reasons for closing a socket (RFC 6455, 7.4.1). The two marked with * are never sent. */
enum websocket_code {
    WEBSOCKET_NORMAL = 1000,
    WEBSOCKET_GOING_AWAY = 1001,  /* the node shuts down: connect to another */
    WEBSOCKET_UNSUPPORTED = 1003, /* a binary message */
    WEBSOCKET_NO_CODE = 1005,     /* * the peer gave none */
    WEBSOCKET_CUT_OFF = 1006,     /* * without a close frame */
    WEBSOCKET_POLICY = 1008,
    WEBSOCKET_TOO_BIG = 1009,
    WEBSOCKET_BROKEN = 1011,
    WEBSOCKET_TRY_AGAIN = 1013 /* the peer does not read what it is sent, or the node is full */
};

enum { WEBSOCKET_MESSAGE_BYTES = 256 << 10, WEBSOCKET_REASON_MAX = 123 };

/* Static. None of these runs inside a call of this module; they may call all of its functions. */
struct websocket_events {
    /* Maximum text message, in bytes; 0: WEBSOCKET_MESSAGE_BYTES. A larger one closes the socket
     * with WEBSOCKET_TOO_BIG. */
    size_t message_max_bytes;
    /* Maximum of what waits for its reader, besides one message; 0: 1 MiB. */
    size_t queue_max_bytes;
    /* Ping interval; 0: 20 s. A peer that is silent for two intervals is cut off. */
    uint64_t ping_every_ms;
    /* Time for one message from its first byte to its last; 0: 60 s. A slower one closes the socket
     * with WEBSOCKET_POLICY. */
    uint64_t message_within_ms;
    /* One whole message, valid UTF-8; valid inside the call only. Not called once the socket is
     * closing. */
    void (*on_message)(struct websocket *websocket, void *arg, struct str text);
    /* Called when everything that was sent is written: a sender with more data than fits
     * (websocket_send) continues here. May be NULL. */
    void (*on_idle)(struct websocket *websocket, void *arg);
    /* Returns whether the socket works on something. Called repeatedly while the node drains: a
     * busy socket stays open until it has finished, or the time to drain is over. NULL: it is never
     * busy. */
    bool (*is_busy)(struct websocket *websocket, void *arg);
    /* The socket is gone; `code` is the reason. Runs exactly once for each accepted socket, as the
     * last event: `websocket` is freed after the call. */
    void (*on_closed)(struct websocket *websocket, void *arg, unsigned code);
};

/* Answers the request with 101, or with an error and then returns NULL: 426 (not a WebSocket
 * handshake of version 13 over HTTP/1.1), 400 (an invalid key), 403 (an origin that is not
 * allowed), 429 (the account has its share of this node's connections), 503 (draining). The request
 * must already be authenticated. Messages may be sent at once. */
struct websocket *websocket_accept(struct request *r, const struct websocket_events *events,
                                   void *arg);
/* Sends a text message, copied; it must be UTF-8. Returns false if the socket is closing, or if too
 * much waits for its reader (queue_max_bytes or 1,024 messages, less while others have much),
 * which closes it with WEBSOCKET_TRY_AGAIN. */
bool websocket_send(struct websocket *websocket, struct str text);
/* Returns whether it takes messages: neither side closes it. */
bool websocket_is_open(const struct websocket *websocket);
/* Delivers no further message until websocket_resume, and reads no more than is already under way,
 * so the peer waits. For an owner that works on one message at a time. */
void websocket_pause(struct websocket *websocket);
/* on_message runs later, never inside the call. */
void websocket_resume(struct websocket *websocket);
/* Sets how many bytes of messages its owner works on. They count like bodies of requests
 * (--body-memory-mib), together with what is being received. Returns false while they are more than
 * fits: the owner should not read on then. */
bool websocket_hold(struct websocket *websocket, size_t bytes) must_check;
/* Closes it after the messages already sent; `reason` has at most WEBSOCKET_REASON_MAX bytes.
 * on_closed runs later. Only the first call has an effect. */
void websocket_close(struct websocket *websocket, unsigned code, const char *reason);

/* For the server. Closes those whose account has lost its right, with WEBSOCKET_POLICY. */
void websocket_close_revoked(struct server *server, const struct accounts *accounts);
/* Closes with WEBSOCKET_GOING_AWAY the sockets that are not busy, or all. */
void websocket_drain(struct server *server, bool is_over);

#endif
