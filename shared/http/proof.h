/* SPDX-License-Identifier: MIT
 *
 * proof: who signed a request; and does its head alone prove who sends it, before its body is
 * taken? The latter decides how much memory a sender gets and nothing else: who may do what is for
 * authenticate.h, which looks again, counts failures and answers. On the loop's thread.
 */
#ifndef PARLEY_HTTP_PROOF_H
#define PARLEY_HTTP_PROOF_H

#include "shared/http/request.h"

enum proof {
    PROOF_NONE,  /* the head has no credentials */
    PROOF_GOOD,  /* they are right, and their role may use the route */
    PROOF_WRONG, /* they are not, or cannot be checked now */
    PROOF_NR
};

/* `query` is raw, without '?'; `authorization` the field's value; both may have `at == NULL`. */
enum proof proof_of_head(struct server *server, const struct route *route, struct str query,
                         struct str authorization);

/* The account that `user` names, if `hash` is its owner's (signed_verify); NULL if not, which takes
 * as long when there is no such account. Borrowed from the account book's current accounts. */
const struct account *proof_of_signature(struct server *server, struct str user, struct str nonce,
                                         struct str hash, struct nonce_id *ret_nonce) must_check;

/* The same of the raw query's parameters User, Nonce and Hash. */
const struct account *proof_of_query(struct server *server, struct str query,
                                     struct nonce_id *ret_nonce) must_check;

#endif
