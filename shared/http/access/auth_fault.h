/* SPDX-License-Identifier: MIT
 *
 * auth_fault: the details of a 401: what a sender can see in its own request. That an account does
 * not exist, that its secret is another one, and that it must log in otherwise are one text, so
 * that nobody finds out which accounts exist. No value that was sent is repeated. All results are
 * constants. On the loop's thread.
 */
#ifndef PARLEY_HTTP_AUTH_FAULT_H
#define PARLEY_HTTP_AUTH_FAULT_H

#include "shared/http/request/request.h"

/* `User`, `Nonce` and `Hash` of a request that was refused; of the query string, or of the body. */
struct auth_signed {
    struct str user, nonce, hash; /* `at == NULL`: it is not there */
};
const char *auth_fault_of_signed(struct request *r, const struct auth_signed *given);
/* A bearer token that is none of ours. `at` may not be NULL. */
const char *auth_fault_of_token(struct str token);
/* `x-api-key`. */
const char *auth_fault_of_key(struct str key);
/* `Authorization: Basic`; `pair` is what it was decoded to, empty if it could not be. */
const char *auth_fault_of_basic(struct str pair);

#endif
