/* SPDX-License-Identifier: MIT
 *
 * authenticate: who sends a request, and may they (contract, section 1). Signed queries are checked
 * here and now; whether their nonce is new is found out by the request's verb, in the same
 * round trip as its work.
 */
#ifndef PARLEY_HTTP_AUTHENTICATE_H
#define PARLEY_HTTP_AUTHENTICATE_H

#include "shared/http/request.h"

/* Sets r->account and r->nonce and returns true, or answers (at once or after counting the
 * failure) and returns false. */
bool authenticate(struct request *r) must_check;

#endif
