/* SPDX-License-Identifier: MIT
 *
 * on_behalf: the user a request acts for. Accounts of role frontend act for any user, accounts of
 * role user only for themselves (OnBehalfOf in /openapi.yaml). On the loop's thread.
 */
#ifndef PARLEY_ASK_ON_BEHALF_H
#define PARLEY_ASK_ON_BEHALF_H

#include "shared/http/request/request.h"

enum { USER_MAX_BYTES = 128 };

/* A user. Both live as long as the request. */
struct on_behalf {
    struct str user;      /* as given: what engines see */
    struct str user_name; /* the same as a name for keys and lines, in the account's namespace */
};

/* `given`: the user that the request names, usually in OnBehalfOf. Role frontend: any user of 1 to
 * 128 bytes. Role user: itself, which is also the default (`at == NULL`). Otherwise answers 400 or
 * 403 and returns false. */
bool on_behalf_of(struct request *r, struct str given, struct on_behalf *ret_whom) must_check;

/* Returns the name of the user or topic `plain` in a namespace (n == 0: none), in the request's
 * pool. Callers limit `plain` to 128 bytes. */
struct str on_behalf_name(struct request *r, struct str namespace, struct str plain);
/* Gives the name of a user that an operator writes as `User` or `namespace~User`, in the request's
 * pool. Answers 400 and returns false if the user is longer than 128 bytes. */
bool on_behalf_any_name(struct request *r, struct str text, struct str *ret_name) must_check;

#endif
