/* SPDX-License-Identifier: MIT
 *
 * gate: what a server proves its clients with: the accounts, the key of the cluster's own tokens, a
 * provider's keys, the failures that it counts. It judges nobody: that is authenticate.h and
 * proof.h, which read it. One per server, on the loop's thread; only gate.c writes its members.
 */
#ifndef PARLEY_HTTP_GATE_H
#define PARLEY_HTTP_GATE_H

#include "shared/auth/accounts.h"
#include "shared/auth/token.h"
#include "shared/redis/call.h"

struct failures;
struct loop;
struct metrics;
struct oidc;
struct rates;
struct server_config;
struct shards;

struct gate {
    struct account_book *accounts; /* NULL: there are none */
    bool is_sha1_allowed;
    struct oidc *oidc; /* NULL: no OpenID provider */
    struct failures *failures;
    struct rates *rates; /* what accounts that are proven may send */
    struct token_key token_key;
    _Atomic bool has_token_key; /* Redis has said it; other threads may look */
    struct call key_call;       /* that asks for it */
    struct shards *shards;
};

/* All is borrowed. */
void gate_init(struct gate *gate, struct loop *loop, const struct server_config *config,
               struct shards *shards, struct metrics *metrics);
/* Before the loop's end; no request waits any more. */
void gate_fini(struct gate *gate);
/* Scripts run (again): asks for the key of the cluster's tokens. */
void gate_on_up(struct gate *gate);

/* The accounts of now; there is a book. */
static inline const struct accounts *gate_accounts(const struct gate *gate)
{
    return account_book_current(gate->accounts);
}

#endif
