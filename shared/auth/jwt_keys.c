/* SPDX-License-Identifier: MIT
 * jwt_keys.c - the JWKS half of jwt.h.
 *
 * A provider's set may hold keys for encryption, keys of kinds to come, and even secrets. What is
 * taken over are the public members of keys that can verify one of the allowed algorithms; they are
 * rebuilt for libcjose, so no other member of the set ever reaches it. A key of type `oct` is never
 * accepted, because anybody who can verify with it can also sign.
 *
 * RSA keys have 2048 to 8192 bits (fewer are weak, more are slow) and an odd exponent from 3 on of
 * at most 8 bytes; with 1 every message would be its own signature. */
#include "shared/auth/jwt_keys.h"

#include "shared/base/base64url.h"
#include "shared/base/mem.h"

#include <assert.h>
#include <stdio.h>

enum { RSA_MIN_BYTES = 256, RSA_MAX_BYTES = 1024, EXPONENT_MAX_BYTES = 8, POINT_MAX_BYTES = 66 };

static const struct jwt_algorithm algorithms[] = {
    {STR("RS256"), JWT_RSA},  {STR("RS384"), JWT_RSA},  {STR("RS512"), JWT_RSA},
    {STR("PS256"), JWT_RSA},  {STR("PS384"), JWT_RSA},  {STR("PS512"), JWT_RSA},
    {STR("ES256"), JWT_P256}, {STR("ES384"), JWT_P384}, {STR("ES512"), JWT_P521},
};

static const struct curve {
    struct str name;
    size_t bytes; /* of a coordinate */
} curves[JWT_KIND_NR] = {
    [JWT_P256] = {STR("P-256"), 32},
    [JWT_P384] = {STR("P-384"), 48},
    [JWT_P521] = {STR("P-521"), POINT_MAX_BYTES},
};

const struct jwt_algorithm *jwt_algorithm_find(struct str name)
{
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
        if (str_eq(algorithms[i].name, name))
            return &algorithms[i];
    return NULL;
}

/* A number in base64url: *ret_n bytes in `out`, which has room for `max`. */
static bool read_number(const json_t *jwk, const char *name, unsigned char *out, size_t max,
                        size_t *ret_n)
{
    struct str text = json_member_str(jwk, name);
    return text.n > 0 && text.n <= (max * 4 + 2) / 3 && base64url_decode(text, out, ret_n);
}

static bool is_rsa_good(const json_t *jwk)
{
    unsigned char n[RSA_MAX_BYTES + 1], e[EXPONENT_MAX_BYTES + 1];
    size_t n_n, e_n;
    if (!read_number(jwk, "n", n, RSA_MAX_BYTES, &n_n) ||
        !read_number(jwk, "e", e, EXPONENT_MAX_BYTES, &e_n))
        return false;
    bool is_long = n_n > RSA_MIN_BYTES ? n[0] != 0 : n_n == RSA_MIN_BYTES && n[0] >= 0x80;
    return is_long && (n[n_n - 1] & 1) == 1 && e[0] != 0 && (e[e_n - 1] & 1) == 1 &&
           (e_n > 1 || e[0] >= 3);
}

static bool is_point_good(const json_t *jwk, size_t bytes)
{
    unsigned char at[POINT_MAX_BYTES + 1];
    size_t x_n, y_n;
    return read_number(jwk, "x", at, POINT_MAX_BYTES, &x_n) && x_n == bytes &&
           read_number(jwk, "y", at, POINT_MAX_BYTES, &y_n) && y_n == bytes;
}

static bool read_kind(const json_t *jwk, enum jwt_key_kind *ret_kind)
{
    struct str kty = json_member_str(jwk, "kty"), crv = json_member_str(jwk, "crv");
    if (str_eq(kty, STR("RSA"))) {
        *ret_kind = JWT_RSA;
        return is_rsa_good(jwk);
    }
    for (unsigned kind = JWT_P256; str_eq(kty, STR("EC")) && kind < JWT_KIND_NR; kind++)
        if (str_eq(crv, curves[kind].name)) {
            *ret_kind = (enum jwt_key_kind)kind;
            return is_point_good(jwk, curves[kind].bytes);
        }
    return false;
}

/* Returns whether `use` and `key_ops`, where they are given, let it verify signatures. */
static bool is_for_verifying(const json_t *jwk)
{
    const json_t *use = json_object_get(jwk, "use"), *ops = json_object_get(jwk, "key_ops");
    if (use != NULL && !str_eq(json_str(use), STR("sig")))
        return false;
    for (size_t i = 0; i < json_array_size(ops); i++)
        if (str_eq(json_str(json_array_get(ops, i)), STR("verify")))
            return true;
    return ops == NULL;
}

/* The key as libcjose takes it, of its public members alone; NULL when it is none, such as a point
 * off its curve. */
static cjose_jwk_t *import(const json_t *jwk, enum jwt_key_kind kind)
{
    static const char *const rsa[] = {"kty", "n", "e", NULL};
    static const char *const ec[] = {"kty", "crv", "x", "y", NULL};
    struct buf b;
    buf_init(&b, 4 * RSA_MAX_BYTES);
    for (const char *const *name = kind == JWT_RSA ? rsa : ec; *name != NULL; name++) {
        buf_printf(&b, "%s\"%s\":", b.n == 0 ? "{" : ",", *name);
        buf_put_json(&b, json_member_str(jwk, *name));
    }
    buf_put_char(&b, '}');
    assert(!b.is_over);
    cjose_jwk_t *key = cjose_jwk_import(b.at, b.n, NULL);
    buf_fini(&b);
    return key;
}

/* False when the key is of no use to us. */
static bool read_key(const json_t *jwk, struct jwt_key *key)
{
    const json_t *alg = json_object_get(jwk, "alg"), *kid = json_object_get(jwk, "kid");
    if (!is_for_verifying(jwk) || !read_kind(jwk, &key->kind))
        return false;
    if (alg != NULL) {
        key->only = jwt_algorithm_find(json_str(alg));
        if (key->only == NULL || key->only->kind != key->kind)
            return false;
    }
    if (kid != NULL) {
        struct str text = json_str(kid);
        if (text.at == NULL || text.n > sizeof key->kid)
            return false;
        memcpy(key->kid, text.at, text.n);
        key->kid_n = text.n;
        key->has_kid = true;
    }
    key->jwk = import(jwk, key->kind);
    return key->jwk != NULL;
}

bool jwt_keys_parse(struct str json, char *reason, size_t reason_size, struct jwt_keys **ret_keys)
{
    json_t *set;
    if (json.n > JWT_KEYS_MAX_BYTES) {
        snprintf(reason, reason_size, "the key set is longer than %d KiB",
                 JWT_KEYS_MAX_BYTES >> 10);
        return false;
    }
    if (!json_parse(json, reason, reason_size, &set))
        return false;
    const json_t *list = json_object_get(set, "keys");
    struct jwt_keys *keys = NULL;
    if (!json_is_array(list)) {
        snprintf(reason, reason_size, "the key set has no list of keys");
    } else if (json_array_size(list) > JWT_KEYS_MAX) {
        snprintf(reason, reason_size, "the key set has more than %d keys", JWT_KEYS_MAX);
    } else {
        keys = mem_zeroed(sizeof *keys);
        for (size_t i = 0; i < json_array_size(list); i++) {
            struct jwt_key key = {0};
            if (read_key(json_array_get(list, i), &key))
                keys->keys[keys->n++] = key;
        }
        if (keys->n == 0) {
            snprintf(reason, reason_size,
                     "the key set has no usable key (RSA of 2048 bits or more, or EC)");
            free(keys);
            keys = NULL;
        }
    }
    json_decref(set);
    if (keys != NULL)
        *ret_keys = keys;
    return keys != NULL;
}

void jwt_keys_destroy(struct jwt_keys *keys)
{
    if (keys == NULL)
        return;
    for (size_t i = 0; i < keys->n; i++)
        cjose_jwk_release(keys->keys[i].jwk);
    free(keys);
}

size_t jwt_keys_count(const struct jwt_keys *keys)
{
    return keys->n;
}
