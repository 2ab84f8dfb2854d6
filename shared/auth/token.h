/* SPDX-License-Identifier: MIT
 *
 * token: the bearer tokens that `login` issues: JWTs (RFC 7519) signed with HS256 under one key
 * that all nodes share. Tokens of an OpenID provider are not for this module (jwt.h): the first
 * bytes of a token tell them apart. No cjose here: that library is for choosing among a provider's
 * algorithms and keys, and our own tokens leave nothing to choose. Pure functions, any thread; the
 * caller owns everything.
 *
 * A token is good for as long as its account exists with the role and the secret of when it was
 * issued: it carries a generation, made from the account's secret under the cluster's key. So a
 * new secret ends all tokens of the old one on every node, and nothing is stored for that.
 */
#ifndef PARLEY_AUTH_TOKEN_H
#define PARLEY_AUTH_TOKEN_H

#include "shared/auth/accounts.h"
#include "shared/base/buf.h"
#include "shared/base/err.h"

enum {
    TOKEN_KEY_BYTES = 32,
    TOKEN_MAX_BYTES = 8 << 10,
    TOKEN_SUB_MAX_BYTES = ACCOUNT_NAME_MAX_BYTES,
    TOKEN_SKEW_S = 60, /* how far the clocks of two nodes may stand apart */
    TOKEN_GENERATION_CHARS = 16
};

struct token_key {
    unsigned char bytes[TOKEN_KEY_BYTES];
};

struct token_claims {
    char sub[TOKEN_SUB_MAX_BYTES]; /* the account's name, without a NUL */
    size_t sub_n;
    enum role role;
    char generation[TOKEN_GENERATION_CHARS]; /* of the account's secret, not compared yet */
    uint64_t expires_s;                      /* seconds since 1970, before the skew is added */
};

static inline struct str token_sub(const struct token_claims *claims)
{
    return (struct str){claims->sub, claims->sub_n};
}

/* Reads 64 hex digits of either case; false (and *ret_key untouched) otherwise. */
bool token_key_parse(struct str hex, struct token_key *ret_key) must_check;

/* Puts a token for the account, valid from `now_s` (seconds since 1970) for `lifetime_s`. A token
 * takes less than 1 KiB, or 1.5 KiB for a name that is all escapes. */
void token_issue(struct buf *out, const struct token_key *key, const struct account *account,
                 uint64_t now_s, unsigned lifetime_s);

/* Whether `token` begins as every token of login does: it is ours or a forgery of one, and nothing
 * that a provider issued. */
bool token_is_ours(struct str token);

/* The account that `token` stands for: ERR_OK with *ret_account (of `accounts`) and *ret_expires_s
 * (its `exp`, seconds since 1970, before the skew is added). ERR_TOKEN_EXPIRED or ERR_REVOKED
 * when the token is one of ours and its time is over, or its account is gone or has another secret
 * or role: these prove that no secret is being guessed. ERR_UNAUTHORIZED otherwise. Both results
 * are untouched unless ERR_OK. */
enum err token_verify(const struct token_key *key, const struct accounts *accounts,
                      struct str token, uint64_t now_s, const struct account **ret_account,
                      uint64_t *ret_expires_s) must_check;

/* The first half of that, without the accounts. ERR_OK with *ret_claims filled when `token` was
 * issued under `key` and `now_s` lies between its `nbf` and `exp`, give or take TOKEN_SKEW_S.
 * ERR_TOKEN_EXPIRED when only `exp` speaks against it. Otherwise ERR_UNAUTHORIZED: another
 * algorithm or form of header, a wrong signature, padding or foreign characters, more than 8 KiB,
 * another issuer, a claim that is missing or of a wrong type. *ret_claims is untouched unless
 * ERR_OK. */
enum err token_read(const struct token_key *key, struct str token, uint64_t now_s,
                    struct token_claims *ret_claims) must_check;

#endif
