/* SPDX-License-Identifier: MIT
 *
 * websocket_handshake: whether a request may become a WebSocket, and the headers of the 101 that
 * makes it one. Of websocket.c alone; moves no bytes. On the request's loop.
 */
#ifndef PARLEY_HTTP_WEBSOCKET_HANDSHAKE_H
#define PARLEY_HTTP_WEBSOCKET_HANDSHAKE_H

#include "shared/http/request.h"

/* *ret_key is the client's key, borrowed from the request. False after it answered: ERR_UPGRADE
 * (426, with the headers that say what is wanted), ERR_BAD_REQUEST, ERR_FORBIDDEN (the origin) or
 * ERR_DRAINING. */
bool handshake_check(struct request *r, struct str *ret_key) must_check;
/* Puts the headers that accept `key`. */
void handshake_put_accept(struct request *r, struct str key);

#endif
