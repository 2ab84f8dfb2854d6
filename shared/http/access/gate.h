/* SPDX-License-Identifier: MIT
 *
 * gate: the data with which a server authenticates clients: the accounts, the cluster's token key,
 * a provider's keys, the failure counts. The decisions are made by authenticate.h and proof.h,
 * which read it. One per server, on the loop's thread; only gate.c writes its members.
 */
#ifndef PARLEY_HTTP_GATE_H
#define PARLEY_HTTP_GATE_H

#include "shared/auth/accounts.h"
#include "shared/auth/person.h"
#include "shared/auth/token_cache.h"
#include "shared/redis/call.h"

struct failures;
struct loop;
struct metrics;
struct oidc;
struct rates;
struct server_config;
struct shards;

struct gate {
    struct account_book *accounts; /* NULL: no accounts */
    bool is_sha1_allowed;
    struct oidc *oidc; /* NULL: no OpenID provider */
    struct failures *failures;
    struct rates *rates; /* rates of accounts */
    struct token_key token_key;
    struct token_cache *tokens;
    _Atomic bool has_token_key;  /* received from Redis; other threads may read it */
    struct call key_call;        /* fetches it */
    const struct accounts *seen; /* that open requests were last checked against (rights.h) */
    struct shards *shards;
};

/* Borrows everything. */
struct gate *gate_create(struct loop *loop, const struct server_config *config,
                         struct shards *shards, struct metrics *metrics) must_check;
/* Call it before the loop ends, when no request waits any more. */
void gate_destroy(struct gate *gate);
/* Call it when scripts run (again): fetches the cluster's token key. */
void gate_on_up(struct gate *gate);

/* Verifies a token from login (token_verify); requires an account book and the token key. */
enum err gate_check_token(struct gate *gate, struct str token, const struct account **ret_account,
                          uint64_t *ret_expires_s) must_check;

/* Names the provider and our client there, for texts of person.h. Requires such a client. */
void gate_put_source(const struct gate *gate, struct buf *out);
/* Verifies the token of a person who signed in with the provider (person_read_token), whose name
 * may not be that of an account. Requires an account book and the token key. */
enum err gate_check_person(struct gate *gate, struct str token,
                           struct person *ret_person) must_check;
/* The same for a code (person_read_code). */
enum err gate_check_code(struct gate *gate, struct str code, struct person *ret_person) must_check;

/* The current accounts; requires an account book. */
static inline const struct accounts *gate_accounts(const struct gate *gate)
{
    return account_book_current(gate->accounts);
}

#endif
