/* SPDX-License-Identifier: MIT
 *
 * token: the bearer tokens that `login` issues: JWTs (RFC 7519) signed with HS256 under one key
 * that all nodes share. Tokens of an OpenID provider are handled by jwt.h; the first bytes of a
 * token distinguish them. This module does not use cjose, because our own tokens have a single
 * algorithm and key. Pure functions, any thread; the caller owns everything.
 *
 * A token is valid as long as its account exists with the role and secret it had when the token was
 * issued; the secret may be the account's former one while that is still valid (accounts.h). The
 * token carries a generation derived from the account's secret and the cluster's key, so a new
 * secret invalidates all old tokens on every node without storing anything. It also carries when
 * its account last proved itself (`auth_time`), which tokens that are issued for it keep.
 */
#ifndef PARLEY_AUTH_TOKEN_H
#define PARLEY_AUTH_TOKEN_H

#include "shared/auth/accounts.h"
#include "shared/auth/token_text.h"
#include "shared/base/err.h"

enum {
    TOKEN_SUB_MAX_BYTES = ACCOUNT_NAME_MAX_BYTES,
    TOKEN_SKEW_S = 60, /* maximum difference between the clocks of two nodes */
    TOKEN_GENERATION_CHARS = 16,
    TOKEN_ID_CHARS = 32
};

struct token_claims {
    char sub[TOKEN_SUB_MAX_BYTES]; /* the account's name, without a NUL */
    size_t sub_n;
    enum role role;
    char generation[TOKEN_GENERATION_CHARS]; /* of the account's secret, not compared yet */
    char id[TOKEN_ID_CHARS];                 /* of a link; of a token, NULs */
    uint64_t proved_s;                       /* seconds since 1970; 0: not stated */
    uint64_t expires_s;                      /* the same, before the skew is added */
};

static inline struct str token_sub(const struct token_claims *claims)
{
    return (struct str){claims->sub, claims->sub_n};
}

/* Puts a token for the account, which proved itself at `proved_s`, valid from `now_s` (seconds
 * since 1970) for `lifetime_s`. A token is shorter than 1 KiB, or 1.5 KiB if the name consists of
 * escapes. */
void token_issue(struct buf *out, const struct token_key *key, const struct account *account,
                 uint64_t proved_s, uint64_t now_s, unsigned lifetime_s);

/* Returns whether `token` begins like a token from login: it is ours or a forgery of ours, not a
 * provider's. */
bool token_is_ours(struct str token);

/* Finds the account of `token`. ERR_OK sets *ret_account (in `accounts`, perhaps a former one) and
 * *ret_expires_s (its `exp`, seconds since 1970, before the skew is added). ERR_TOKEN_EXPIRED or
 * ERR_REVOKED: the token is ours but has expired, or its account is gone or has another secret or
 * role; in these cases no secret is being guessed. Otherwise ERR_UNAUTHORIZED. Both results are
 * untouched unless ERR_OK. */
enum err token_verify(const struct token_key *key, const struct accounts *accounts,
                      struct str token, uint64_t now_s, const struct account **ret_account,
                      uint64_t *ret_expires_s) must_check;

/* The first half of token_verify, without the accounts. Returns ERR_OK with *ret_claims filled if
 * `token` was issued under `key` and `now_s` lies between its `nbf` and `exp`, within TOKEN_SKEW_S.
 * ERR_TOKEN_EXPIRED if only `exp` has passed. Otherwise ERR_UNAUTHORIZED: another algorithm or
 * header, a wrong signature, padding or invalid characters, more than 8 KiB, another issuer, or a
 * missing or mistyped claim. *ret_claims is untouched unless ERR_OK. */
enum err token_read(const struct token_key *key, struct str token, uint64_t now_s,
                    struct token_claims *ret_claims) must_check;

/* Puts the secret part of a link that signs its account in, once and without its secret. It is no
 * token, and no token is one. `id`, which differs from link to link, is used up like a nonce. */
void token_issue_link(struct buf *out, const struct token_key *key, const struct account *account,
                      uint64_t now_s, unsigned lifetime_s);
/* token_verify for links. Does not use up the link. */
enum err token_verify_link(const struct token_key *key, const struct accounts *accounts,
                           struct str link, uint64_t now_s, const struct account **ret_account,
                           char ret_id[TOKEN_ID_CHARS]) must_check;

/* Milliseconds until a token that expires at `expires_s` (seconds since 1970) is no longer
 * accepted, including the allowed clock skew. */
uint64_t token_left_ms(uint64_t expires_s);

#endif
