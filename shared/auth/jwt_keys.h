/* SPDX-License-Identifier: MIT
 *
 * jwt_keys: the keys of a JWKS as jwt.c uses them. Private to shared/auth.
 */
#ifndef PARLEY_AUTH_JWT_KEYS_H
#define PARLEY_AUTH_JWT_KEYS_H

#include "shared/auth/jwt.h"

#include <cjose/jwk.h>

/* The usable kinds of keys. Each elliptic curve belongs to exactly one algorithm. */
enum jwt_key_kind { JWT_RSA, JWT_P256, JWT_P384, JWT_P521, JWT_KIND_NR };

struct jwt_algorithm {
    struct str name;
    enum jwt_key_kind kind;
};

struct jwt_key {
    enum jwt_key_kind kind;
    const struct jwt_algorithm *only; /* its `alg`; NULL: any of its kind */
    char kid[JWT_KID_MAX_BYTES];      /* without a NUL */
    size_t kid_n;
    bool has_kid;
    cjose_jwk_t *jwk; /* public parts only */
};

struct jwt_keys {
    struct jwt_key keys[JWT_KEYS_MAX];
    size_t n;
};

/* Returns NULL for an algorithm that is not allowed. */
const struct jwt_algorithm *jwt_algorithm_find(struct str name);

#endif
