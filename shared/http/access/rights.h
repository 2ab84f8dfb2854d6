/* SPDX-License-Identifier: MIT
 *
 * rights: ends everything open for an account that loses its right because it was removed or got
 * another secret or role (docs/adr/0015). Long polls are answered with 401, streams end with an
 * `error` event, WebSockets close with 1008. The same happens when a token expires, except for long
 * polls, which end soon anyway. On the loop's thread.
 *
 * A running request is answered with 401 too, whatever it has done: its client retries with the new
 * secret. What it claimed is given back.
 */
#ifndef PARLEY_HTTP_RIGHTS_H
#define PARLEY_HTTP_RIGHTS_H

#include "shared/http/request/request.h"

/* Marks the gate's current accounts as seen. */
void rights_init(struct server *server);
/* Lists a request that has an account, until it is disposed of. */
void rights_list(struct request *r);
/* Accepts a request that was never listed. */
void rights_unlist(struct request *r);

/* If the accounts have been reloaded, checks everything that is open. */
void rights_check(struct server *server);

/* Ends the request: ERR_REVOKED, or ERR_TOKEN_EXPIRED. A request that neither waits nor streams
 * gets that answer when it is done. */
void rights_end(struct request *r, enum err why);

/* Milliseconds until a token that expires at `expires_s` (seconds since 1970) is no longer
 * accepted, including the allowed clock skew. */
uint64_t rights_left_ms(uint64_t expires_s);

#endif
