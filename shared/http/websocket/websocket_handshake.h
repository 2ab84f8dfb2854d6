/* SPDX-License-Identifier: MIT
 *
 * websocket_handshake: checks whether a request may become a WebSocket and adds the headers of the
 * 101 response. Used only by websocket.c; does no I/O. On the request's loop.
 */
#ifndef PARLEY_HTTP_WEBSOCKET_HANDSHAKE_H
#define PARLEY_HTTP_WEBSOCKET_HANDSHAKE_H

#include "shared/http/request/request.h"

/* *ret_key is the client's key, borrowed from the request. Returns false after it answered with
 * ERR_UPGRADE (426, with headers that name the requirements), ERR_BAD_REQUEST, ERR_FORBIDDEN (the
 * origin) or ERR_DRAINING. */
bool handshake_check(struct request *r, struct str *ret_key) must_check;
/* Puts the headers that accept `key`. */
void handshake_put_accept(struct request *r, struct str key);

#endif
