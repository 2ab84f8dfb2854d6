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
 * and then runs the route's handler, or answers. */
bool authenticate(struct request *r) must_check;

/* Scripts run (again): asks for the key of the cluster's tokens. */
void authenticate_on_up(struct server *server);

#endif
