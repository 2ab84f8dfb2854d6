/* SPDX-License-Identifier: MIT
 *
 * token: the bearer tokens that `login` issues: JWTs (RFC 7519) signed with HS256 under one key
 * that all nodes share. Tokens of an OpenID provider are not for this module (jwt.h): the first
 * bytes of a token tell them apart. No cjose here: that library is for choosing among a provider's
 * algorithms and keys, and our own tokens leave nothing to choose. Pure functions, any thread; the
 * caller owns everything.
 *
 * A good token proves that an account of that name had that role when it was issued. Whether the
 * account still exists, and with that role, is the caller's to look up.
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
    TOKEN_SKEW_S = 60 /* how far the clocks of two nodes may stand apart */
};

struct token_key {
    unsigned char bytes[TOKEN_KEY_BYTES];
};

struct token_claims {
    char sub[TOKEN_SUB_MAX_BYTES]; /* the account's name, without a NUL */
    size_t sub_n;
    enum role role;
    uint64_t expires_s; /* seconds since 1970, before the skew is added */
};

static inline struct str token_sub(const struct token_claims *claims)
{
    return (struct str){claims->sub, claims->sub_n};
}

/* Reads 64 hex digits of either case; false (and *ret_key untouched) otherwise. */
bool token_key_parse(struct str hex, struct token_key *ret_key) must_check;

/* Puts a token for the account, valid from `now_s` (seconds since 1970) for `lifetime_s`. The name
 * is an account's: UTF-8, 1 to 128 bytes. A token takes less than 1 KiB, or 1.5 KiB for a name that
 * is all escapes. */
void token_issue(struct buf *out, const struct token_key *key, struct str account_name,
                 enum role role, uint64_t now_s, unsigned lifetime_s);

/* Whether `token` begins as every token of login does: it is ours or a forgery of one, and nothing
 * that a provider issued. */
bool token_is_ours(struct str token);

/* ERR_OK with *ret_claims filled when `token` was issued under `key` and `now_s` lies between its
 * `nbf` and `exp`, give or take TOKEN_SKEW_S. Otherwise ERR_UNAUTHORIZED and *ret_claims untouched:
 * another algorithm or form of header, a wrong signature, padding or foreign characters, more than
 * 8 KiB, another issuer, a claim that is missing or of a wrong type. */
enum err token_verify(const struct token_key *key, struct str token, uint64_t now_s,
                      struct token_claims *ret_claims) must_check;

#endif
