/* SPDX-License-Identifier: MIT
 *
 * authenticate: identifies the sender of a request and checks its role (securitySchemes in
 * /openapi.yaml). Signatures are verified immediately; the request's verb checks whether the
 * nonce is new, in the same round trip as its work. On the loop's thread.
 */
#ifndef PARLEY_HTTP_AUTHENTICATE_H
#define PARLEY_HTTP_AUTHENTICATE_H

#include "shared/http/request/request.h"

/* Sets r->account, r->identity and r->nonce and returns true, or returns false and takes over the
 * request: it answers, immediately or after counting the failure, or waits for a provider's keys
 * and then calls `on_known` or answers. */
bool authenticate(struct request *r, void (*on_known)(struct request *r)) must_check;

/* The bearer token of a request that was authenticated by one; `at == NULL`: it was not. */
struct str authenticate_token(struct request *r);

/* For credentials that a route checks itself (struct route's is_open) and finds wrong: counts the
 * failure as that of a token, and answers 401 with `detail`, a constant, or 429. */
void authenticate_fail(struct request *r, const char *detail);

/* For the same routes, before a check that costs somebody else something: answers 429 and returns
 * false while this network's failures are refused. */
bool authenticate_may_try(struct request *r) must_check;

/* Returns whether the request has credentials, valid or not, or a body that may contain some. The
 * route is known. */
bool authenticate_is_tried(struct request *r);

/* For a request that is answered before start_request because its body is too large or invalid:
 * uses up the nonce if the query is correctly signed. The sender sees no difference, so secrets
 * cannot be guessed here. */
void authenticate_use_up(struct server *server, struct str query);

#endif
