/* SPDX-License-Identifier: MIT
 *
 * proof: verifies who signed a request, and whether its head alone authenticates the sender before
 * the body is read. The latter only decides how much memory the sender gets: authenticate.h checks
 * again, decides what is allowed, counts failures and answers. On the loop's thread.
 */
#ifndef PARLEY_HTTP_PROOF_H
#define PARLEY_HTTP_PROOF_H

#include "shared/http/request/request.h"

enum proof {
    PROOF_NONE,  /* the head has no credentials */
    PROOF_GOOD,  /* they are valid, and their role may use the route */
    PROOF_WRONG, /* they are invalid or cannot be checked now */
    PROOF_NR
};

/* The places where a head may have credentials: the raw query, without '?', and values of fields.
 * All may have `at == NULL`. */
struct proof_places {
    struct str query, authorization, caller_key, api_key;
};
/* Checks the credentials of a head. A wrong caller key counts as none: the route refuses it. */
enum proof proof_of_head(struct server *server, const struct route *route,
                         const struct proof_places *places);

/* Returns whether `text` is written like an API key: `sk-...` (account_key.h) or
 * `<account>:<secret>`. No token is. */
bool is_api_key(struct str text);
/* Returns the account of an API key, otherwise NULL; an unknown account takes as long. *ret_name is
 * the name that is claimed, in `key` or in `room`. */
const struct account *proof_of_api_key(struct server *server, struct str key,
                                       char room[ACCOUNT_NAME_MAX_BYTES],
                                       struct str *ret_name) must_check;

/* `Authorization: Bearer ...` (RFC 6750). */
static inline bool is_bearer(struct str authorization)
{
    return authorization.n >= 7 && str_eq_nocase((struct str){authorization.at, 7}, STR("Bearer "));
}
static inline struct str bearer_value(struct str authorization)
{
    return str_trim((struct str){authorization.at + 7, authorization.n - 7});
}

/* `Authorization: Basic ...` (RFC 7617). */
enum { BASIC_MAX_BYTES = 1024 };
static inline bool is_basic(struct str authorization)
{
    return authorization.n >= 6 && str_eq_nocase((struct str){authorization.at, 6}, STR("Basic "));
}
static inline struct str basic_value(struct str authorization)
{
    return (struct str){authorization.at + 6, authorization.n - 6};
}
/* The same for the value after "Basic ", for an account with a hashed secret: others sign and need
 * not send their secret. It is decoded into `text` (at least BASIC_MAX_BYTES),
 * where *ret_name points. */
const struct account *proof_of_basic(struct server *server, struct str value, struct buf *text,
                                     struct str *ret_name) must_check;

/* Returns the account of `user` if `hash` is valid (signed_verify), otherwise NULL; an unknown
 * account takes as long. Borrowed from the account book's current accounts. */
const struct account *proof_of_signature(struct server *server, struct str user, struct str nonce,
                                         struct str hash, struct nonce_id *ret_nonce) must_check;

/* The same for the raw query's parameters User, Nonce and Hash. */
const struct account *proof_of_query(struct server *server, struct str query,
                                     struct nonce_id *ret_nonce) must_check;

#endif
