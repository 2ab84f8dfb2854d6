/* SPDX-License-Identifier: MIT
 *
 * authenticate: who sends a request, and may they (contract, section 1). Signed queries are checked
 * here and now; whether their nonce is new is found out by the request's verb, in the same
 * round trip as its work. On the loop's thread.
 */
#ifndef PARLEY_HTTP_AUTHENTICATE_H
#define PARLEY_HTTP_AUTHENTICATE_H

#include "shared/http/request.h"

/* Sets r->account, r->identity and r->nonce and returns true, or returns false and sees to the
 * request itself: it answers, at once or after counting the failure, or waits for a provider's keys
 * and then goes on with request_admit, or answers. */
bool authenticate(struct request *r) must_check;

/* Whether the request carries credentials, good or not, or a body that may hold some. The route is
 * known. */
bool authenticate_is_tried(struct request *r);

/* For a request that is answered before it was begun (request_start), because its body is too large
 * or broken: when its query is rightly signed its nonce is used up. Says nothing to the sender, so
 * nobody can try secrets here. */
void authenticate_use_up(struct server *server, struct str query);

#endif
