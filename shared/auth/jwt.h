/* SPDX-License-Identifier: MIT
 *
 * jwt: bearer tokens of an OpenID provider: JWTs (RFC 7519) signed under a key of its JWKS (RFC
 * 7517). It checks signature and claims; where the keys come from is oidc.h's, our own tokens are
 * token.h's. RS256/384/512, PS256/384/512 and ES256/384/512: what libcjose 0.6 can verify with a
 * public key, which leaves EdDSA out. Never `none`, never HMAC.
 *
 * A `struct jwt_keys` belongs to one thread: OpenSSL caches inside of keys. Everything else is
 * pure.
 */
#ifndef PARLEY_AUTH_JWT_H
#define PARLEY_AUTH_JWT_H

#include "shared/auth/accounts.h"
#include "shared/base/buf.h"
#include "shared/base/json.h"

enum {
    JWT_MAX_BYTES = 8 << 10,
    JWT_SUB_MAX_BYTES = ACCOUNT_NAME_MAX_BYTES,
    JWT_KID_MAX_BYTES = 256,
    JWT_KEYS_MAX = 64,
    JWT_KEYS_MAX_BYTES = 256 << 10,
    JWT_SKEW_S = 60 /* how far our clock and the provider's may stand apart */
};

/* Why a token is refused, with the words for logs. */
/* clang-format off */
#define JWT_FAULTS(X)                                                                             \
    X(GOOD,       "good")                                                                         \
    X(TOO_LARGE,  "longer than 8 KiB")                                                            \
    X(MALFORMED,  "no JWT: not three parts of base64url with JSON, or a critical header")         \
    X(ALGORITHM,  "signed by an algorithm that is not allowed")                                   \
    X(NO_KEY,     "signed under an unknown key")                                                  \
    X(KEY_MISFIT, "its key is not for that algorithm")                                            \
    X(SIGNATURE,  "wrong signature")                                                              \
    X(CLAIMS,     "a claim is missing or of a wrong type")                                        \
    X(EXPIRED,    "expired")                                                                      \
    X(NOT_YET,    "not valid yet")                                                                \
    X(ISSUER,     "from another issuer")                                                          \
    X(AUDIENCE,   "for another audience")                                                         \
    X(SUBJECT,    "its sub is no name of 1 to 128 bytes without white space")
/* clang-format on */

enum jwt_fault {
#define X(name, text) JWT_##name,
    JWT_FAULTS(X)
#undef X
        JWT_FAULT_NR
};

/* Static, NUL-terminated. Aborts on another value. */
const char *jwt_fault_text(enum jwt_fault fault);

struct jwt_keys;

/* Reads a JWKS (borrowed, at most 256 KiB and 64 keys). Keys that are not for verifying, of another
 * kind or curve, shorter than RSA 2048 or broken are passed over. On success, which takes one good
 * key, *ret_keys is the caller's. Otherwise false, and a NUL-terminated reason without the input in
 * `reason`. */
bool jwt_keys_parse(struct str json, char *reason, size_t reason_size,
                    struct jwt_keys **ret_keys) must_check;
/* Accepts NULL. */
void jwt_keys_destroy(struct jwt_keys *keys);
size_t jwt_keys_count(const struct jwt_keys *keys);

/* Borrowed while a token is verified. */
struct jwt_policy {
    struct str issuer;   /* empty: not compared */
    struct str audience; /* one of `aud`, or `azp`, must be it */
};

/* What a good token says. The texts are UTF-8 without NUL and live in `payload`, until
 * jwt_claims_fini. */
struct jwt_claims {
    json_t *payload;
    struct str sub;      /* 1 to 128 bytes without white space and control characters */
    struct str username; /* preferred_username, or name, or sub */
    struct str email;    /* `at == NULL` when unknown */
    uint64_t expires_s;  /* seconds since 1970, before the skew is added */
};

/* JWT_GOOD with *ret_claims filled (to be freed by jwt_claims_fini) when `token` was signed under
 * one of `keys`, fits `policy` and `now_s` (seconds since 1970) lies between `nbf`, if it has one,
 * and `exp`, give or take JWT_SKEW_S. Otherwise *ret_claims is untouched. JWT_NO_KEY: no key has
 * its `kid`, or it has none and none of the keys made it: newer keys may know it. `keys` may be
 * NULL: no key at all. */
enum jwt_fault jwt_verify(const struct jwt_keys *keys, struct str token,
                          const struct jwt_policy *policy, uint64_t now_s,
                          struct jwt_claims *ret_claims) must_check;
/* Puts the texts of the first list among `roles`, `realm_access.roles` and `groups` as a JSON list;
 * "[]" when there is none. */
void jwt_put_roles(struct buf *b, const struct jwt_claims *claims);
void jwt_claims_fini(struct jwt_claims *claims);

#endif
