/* SPDX-License-Identifier: MIT
 *
 * rights: ends everything open for an account that loses its right because it was removed or got
 * another secret or role (ADR 15). Long polls are answered with 401, streams end with an
 * `error` event, WebSockets close with 1008. The same happens when a token expires, except for long
 * polls, which end soon anyway. On the loop's thread.
 *
 * A running request is answered with 401 too, whatever it has done: its client retries with the new
 * secret. What it claimed is given back.
 */
#ifndef PARLEY_HTTP_RIGHTS_H
#define PARLEY_HTTP_RIGHTS_H

#include "shared/http/request/request.h"

/* If the accounts have been reloaded, ends the requests of those that have lost their right
 * (request_revoke) and returns the new accounts; otherwise NULL. */
const struct accounts *rights_check(struct server *server);

#endif
