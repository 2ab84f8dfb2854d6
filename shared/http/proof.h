/* SPDX-License-Identifier: MIT
 *
 * proof: does the head of a request alone prove who sends it, before its body is taken? It decides
 * how much memory a sender gets and nothing else: who may do what is for authenticate.h, which
 * looks again, counts failures and answers. On the loop's thread.
 */
#ifndef PARLEY_HTTP_PROOF_H
#define PARLEY_HTTP_PROOF_H

#include "shared/http/request.h"

enum proof_kind {
    PROOF_NONE,  /* the head has no credentials */
    PROOF_GOOD,  /* they are right, and their role may use the route */
    PROOF_WRONG, /* they are not, or cannot be checked now */
    PROOF_NR
};

struct proof {
    enum proof_kind kind;
    struct nonce_id nonce; /* of a good signature: not yet used up */
};

/* `query` is raw, without '?'; `authorization` the field's value; both may have `at == NULL`. */
struct proof proof_of_head(struct server *server, const struct route *route, struct str query,
                           struct str authorization);

/* Uses up the nonce of a proven request that no verb will follow; nothing without one. */
void proof_use_up(struct server *server, const struct proof *proof);

#endif
