/* SPDX-License-Identifier: MIT
 *
 * on_behalf: whom a request acts for. Accounts of role frontend act for any user, those of role
 * user for themselves only (contract, section 1). On the loop's thread.
 */
#ifndef PARLEY_ASK_ON_BEHALF_H
#define PARLEY_ASK_ON_BEHALF_H

#include "shared/http/request.h"

enum { USER_MAX_BYTES = 128 };

/* A user. Both live as long as the request. */
struct on_behalf {
    struct str user;      /* as it was given: what engines see */
    struct str user_name; /* the same as a name for keys and lines, in the account's namespace */
};

/* `given`: what the request names, in OnBehalfOf mostly. Role frontend: 1 to 128 bytes. Role user:
 * itself, which is also what it is without (`at == NULL`). Answers 400 or 403 and returns false
 * otherwise. */
bool on_behalf_of(struct request *r, struct str given, struct on_behalf *ret_whom) must_check;

/* The name of the user or topic `plain` of that namespace (n == 0: none), which callers hold to 128
 * bytes, in the request's pool. */
struct str on_behalf_name(struct request *r, struct str namespace, struct str plain);
/* The name of a user that an operator names: `User` or `namespace~User`, in the request's pool.
 * Answers 400 and returns false when the user is longer than 128 bytes. */
bool on_behalf_any_name(struct request *r, struct str text, struct str *ret_name) must_check;

#endif
