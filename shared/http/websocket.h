/* SPDX-License-Identifier: MIT
 *
 * websocket: a request that becomes a WebSocket (RFC 6455): text messages in and out. Framing is
 * wslay's; this is the handshake, the socket, and the bounds: the size of a message, what may wait
 * for a slow reader, how long a silent peer is taken for alive.
 *
 *   (request) --websocket_accept--> UPGRADING --101 written--> OPEN
 *   OPEN --websocket_close, the peer, drain--> CLOSING --close frame written--> LINGERING
 *   LINGERING --the peer has closed too, or 5 s--> GONE, on_closed
 *   (any) --cut off--> GONE, on_closed
 *
 * One per connection, made on an HTTP/1.1 request, used on the loop's thread only. It has memory of
 * its own: the request is gone soon after the upgrade, so `arg` must not be in the request's
 * memory. The server's drain waits until it is gone. It is closed with WEBSOCKET_POLICY when its
 * account loses the right or its token's time is over (rights.h).
 */
#ifndef PARLEY_HTTP_WEBSOCKET_H
#define PARLEY_HTTP_WEBSOCKET_H

#include "shared/http/request.h"

struct websocket;

/* Why a socket was closed (RFC 6455, 7.4.1). The two marked with * are never sent. */
enum websocket_code {
    WEBSOCKET_NORMAL = 1000,
    WEBSOCKET_GOING_AWAY = 1001,  /* the node shuts down: connect to another */
    WEBSOCKET_UNSUPPORTED = 1003, /* a binary message */
    WEBSOCKET_NO_CODE = 1005,     /* * the peer gave none */
    WEBSOCKET_CUT_OFF = 1006,     /* * without a close frame */
    WEBSOCKET_POLICY = 1008,
    WEBSOCKET_TOO_BIG = 1009,
    WEBSOCKET_BROKEN = 1011,
    WEBSOCKET_TRY_AGAIN = 1013 /* the peer does not read what it is sent */
};

enum { WEBSOCKET_MESSAGE_BYTES = 64 << 10, WEBSOCKET_REASON_MAX = 123 };

/* Static. None of these runs inside a call of this module; inside them all its calls may be made.
 */
struct websocket_events {
    /* Largest text message taken, in bytes; 0: WEBSOCKET_MESSAGE_BYTES. A larger one closes the
     * socket with WEBSOCKET_TOO_BIG. */
    size_t message_max_bytes;
    /* Between two looks for signs of life; 0: 30 s. A peer that is silent for two is cut off. */
    uint64_t ping_every_ms;
    /* One whole message, valid UTF-8; valid inside the call only. Not once the socket is closing.
     */
    void (*on_message)(struct websocket *websocket, void *arg, struct str text);
    /* All that was sent is written: a sender that has more than fits (websocket_send) continues
     * here. NULL for nothing. */
    void (*on_idle)(struct websocket *websocket, void *arg);
    /* It is gone; `code` says why. Exactly once for every socket that was accepted, and the last
     * that is heard of it: `websocket` is freed after the call. */
    void (*on_closed)(struct websocket *websocket, void *arg, unsigned code);
};

/* Answers the request: with 101, or with what hinders it, and then returns NULL: 426 (no WebSocket
 * handshake of version 13 over HTTP/1.1), 400 (a broken key), 403 (an origin that is not listed,
 * where origins are), 503 (draining). The request must be authenticated before, as any other is.
 * Messages may be sent at once. */
struct websocket *websocket_accept(struct request *r, const struct websocket_events *events,
                                   void *arg);
/* Sends a text message, copied; it must be UTF-8. False when the socket is closing, or when too
 * much waits for its reader (1 MiB, or 1,024 messages), which closes it with WEBSOCKET_TRY_AGAIN.
 */
bool websocket_send(struct websocket *websocket, struct str text);
/* Closes it, after the messages that were sent before; `reason` has at most WEBSOCKET_REASON_MAX
 * bytes. on_closed comes later. The first call counts. */
void websocket_close(struct websocket *websocket, unsigned code, const char *reason);
/* Closes those whose account does not keep its right, with WEBSOCKET_POLICY. */
void websocket_close_revoked(struct server *server, const struct accounts *accounts);
/* Closes every socket of the server with WEBSOCKET_GOING_AWAY. */
void websocket_close_all(struct server *server);

#endif
