/* SPDX-License-Identifier: MIT
 *
 * proof: does the head of a request alone prove who sends it, before its body is taken? It decides
 * how much memory a sender gets and nothing else: who may do what is for authenticate.h, which
 * looks again, counts failures and answers. On the loop's thread.
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

#endif
