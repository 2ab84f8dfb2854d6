/* SPDX-License-Identifier: MIT
 *
 * rights: what is open for an account ends when the account loses its right: it is gone, or has
 * another secret or role (contract, section 1). Long polls are answered with 401, streams end with
 * an `error` event, WebSockets close with 1008. The same when a token's time is over, except for
 * long polls, which end soon by themselves. On the loop's thread.
 *
 * A request that is at work when the accounts change is answered with 401 too, whatever it has
 * done: its client comes back with the new secret. What it claimed is given back.
 */
#ifndef PARLEY_HTTP_RIGHTS_H
#define PARLEY_HTTP_RIGHTS_H

#include "shared/http/request.h"

/* The accounts of the gate count as seen. */
void rights_init(struct server *server);
/* A request that has an account; until it is disposed of. */
void rights_list(struct request *r);
/* Also of one that was never listed. */
void rights_unlist(struct request *r);

/* The accounts may have been read again: looks at all that is open, if they were. */
void rights_check(struct server *server);

/* Ends the request: ERR_REVOKED, or ERR_TOKEN_EXPIRED. What neither waits nor streams gets that
 * answer once it is done. */
void rights_end(struct request *r, enum err why);

/* Milliseconds from now to the end of a token that expires at `expires_s` (seconds since 1970). One
 * that is only good because clocks differ lasts as long as it would be accepted. */
uint64_t rights_left_ms(uint64_t expires_s);

#endif
