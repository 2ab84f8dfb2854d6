/* SPDX-License-Identifier: MIT
 *
 * jwt: bearer tokens of an OpenID provider: JWTs (RFC 7519) signed with a key of its JWKS (RFC
 * 7517). It checks signature and claims; oidc.h fetches the keys, and token.h handles our own
 * tokens. Algorithms: RS256/384/512, PS256/384/512 and ES256/384/512, which is what libcjose 0.6
 * can verify with a public key (not EdDSA). Never `none`, never HMAC.
 *
 * A `struct jwt_keys` belongs to one thread, because OpenSSL caches data inside keys. Everything
 * else is pure.
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
    JWT_SKEW_S = 60 /* maximum difference between our clock and the provider's */
};

/* Reasons for rejecting a token, with the text for logs. */
/* clang-format off */
#define JWT_FAULTS(X)                                                                             \
    X(GOOD,       "good")                                                                         \
    X(TOO_LARGE,  "longer than 8 KiB")                                                            \
    X(MALFORMED,  "not a JWT: expected three base64url parts with JSON, and no critical header")  \
    X(ALGORITHM,  "signed with an algorithm that is not allowed")                                 \
    X(NO_KEY,     "signed with an unknown key")                                                   \
    X(KEY_MISFIT, "the key does not fit the algorithm")                                           \
    X(SIGNATURE,  "wrong signature")                                                              \
    X(CLAIMS,     "a claim is missing or has the wrong type")                                     \
    X(EXPIRED,    "expired")                                                                      \
    X(NOT_YET,    "not valid yet")                                                                \
    X(ISSUER,     "from another issuer")                                                          \
    X(AUDIENCE,   "for another audience")                                                         \
    X(SUBJECT,    "its sub is not 1 to 128 bytes without white space")
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

/* Reads a JWKS (borrowed, at most 256 KiB and 64 keys). Skips keys that are not for verification,
 * have another type or curve, are shorter than RSA 2048 or are invalid. Succeeds if one usable key
 * remains; the caller then owns *ret_keys. Otherwise returns false and writes a NUL-terminated
 * reason without the input into `reason`. */
bool jwt_keys_parse(struct str json, char *reason, size_t reason_size,
                    struct jwt_keys **ret_keys) must_check;
/* Accepts NULL. */
void jwt_keys_destroy(struct jwt_keys *keys);
size_t jwt_keys_count(const struct jwt_keys *keys);

/* Borrowed while a token is verified. */
struct jwt_policy {
    struct str issuer;   /* empty: not compared */
    struct str audience; /* must be in `aud` or equal `azp` */
};

/* The claims of a valid token. The texts are UTF-8 without NUL and live in `payload` until
 * jwt_claims_fini. */
struct jwt_claims {
    json_t *payload;
    struct str sub;      /* 1 to 128 bytes without white space and control characters */
    struct str username; /* preferred_username, or name, or sub */
    struct str email;    /* `at == NULL` when unknown */
    uint64_t expires_s;  /* seconds since 1970, before the skew is added */
};

/* Returns JWT_GOOD with *ret_claims filled (free with jwt_claims_fini) if `token` was signed with
 * one of `keys`, matches `policy`, and `now_s` (seconds since 1970) lies between `nbf`, if present,
 * and `exp`, within JWT_SKEW_S. Otherwise *ret_claims is untouched. JWT_NO_KEY: no key has its
 * `kid`, or it has none and no key verifies it; newer keys may. `keys` may be NULL: no keys. */
enum jwt_fault jwt_verify(const struct jwt_keys *keys, struct str token,
                          const struct jwt_policy *policy, uint64_t now_s,
                          struct jwt_claims *ret_claims) must_check;
/* Puts the texts of the first list found among `roles`, `realm_access.roles` and `groups` as a JSON
 * list; "[]" if there is none. */
void jwt_put_roles(struct buf *b, const struct jwt_claims *claims);
void jwt_claims_fini(struct jwt_claims *claims);

#endif
