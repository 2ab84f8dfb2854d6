/* SPDX-License-Identifier: MIT
 * jwt.c - see jwt.h; jwt_keys.c reads key sets.
 *
 * A token's header names its key and algorithm, and is untrusted until the signature is verified.
 * So the algorithm is looked up in a table of those that take a public key, before a key is chosen;
 * the key must be of the kind that the algorithm takes, and of that very algorithm when the
 * provider said so; and libcjose, which reads the header on its own, must have read the same
 * algorithm. Header extensions that must be understood (`crit`) are not.
 *
 * The three parts are decoded strictly before libcjose sees them: a token has one spelling, and
 * that library's own decoder ends the process on some that are none. Claims are read after the
 * signature. Times are numbers of any form (RFC 7519 allows fractions) and compared as doubles. */
#include "shared/auth/jwt_keys.h"

#include "shared/base/base64url.h"

#include <assert.h>
#include <cjose/header.h>
#include <cjose/jws.h>

#define EXPIRES_MAX_S (INT64_MAX / 2000) /* small enough for sums of milliseconds */

enum { PART_MAX_BYTES = JWT_MAX_BYTES * 3 / 4, REASON_BYTES = 160 };

const char *jwt_fault_text(enum jwt_fault fault)
{
    static const char *const texts[JWT_FAULT_NR] = {
#define X(name, text) [JWT_##name] = text,
        JWT_FAULTS(X)
#undef X
    };
    assert((unsigned)fault < JWT_FAULT_NR);
    return texts[fault];
}

/* --- signature -------------------------------------------------------------------------------- */

struct parts {
    struct str header, payload, signature; /* base64url */
};

static bool cut_parts(struct str token, struct parts *parts)
{
    struct str rest = token;
    parts->header = str_cut(&rest, '.');
    parts->payload = str_cut(&rest, '.');
    parts->signature = str_cut(&rest, '.');
    return parts->header.n > 0 && parts->payload.n > 0 && parts->signature.n > 0 && rest.at == NULL;
}

static bool is_base64url(struct str part)
{
    unsigned char bytes[PART_MAX_BYTES];
    size_t n;
    return base64url_decode(part, bytes, &n);
}

/* One part as a JSON object, the caller's; NULL when it is none. */
static json_t *decode_object(struct str part)
{
    unsigned char bytes[PART_MAX_BYTES];
    char reason[REASON_BYTES];
    size_t n;
    json_t *value;
    if (!base64url_decode(part, bytes, &n) ||
        !json_parse((struct str){(const char *)bytes, n}, reason, sizeof reason, &value))
        return NULL;
    if (json_is_object(value))
        return value;
    json_decref(value);
    return NULL;
}

static bool is_signed_by(cjose_jws_t *jws, const struct jwt_algorithm *algorithm,
                         const struct jwt_key *key)
{
    const char *alg = cjose_header_get(cjose_jws_get_protected(jws), CJOSE_HDR_ALG, NULL);
    return alg != NULL && str_eq(str_of(alg), algorithm->name) &&
           cjose_jws_verify(jws, key->jwk, NULL);
}

/* With a `kid` only keys of that name count; without, all that fit are tried. */
static enum jwt_fault try_keys(const struct jwt_keys *keys, cjose_jws_t *jws,
                               const struct jwt_algorithm *algorithm, struct str kid)
{
    enum jwt_fault fault = JWT_NO_KEY;
    for (size_t i = 0; i < keys->n; i++) {
        const struct jwt_key *key = &keys->keys[i];
        if (kid.at != NULL && (!key->has_kid || !str_eq((struct str){key->kid, key->kid_n}, kid)))
            continue;
        bool fits = key->kind == algorithm->kind && (key->only == NULL || key->only == algorithm);
        if (fits && is_signed_by(jws, algorithm, key))
            return JWT_GOOD;
        if (kid.at != NULL && fault != JWT_SIGNATURE)
            fault = fits ? JWT_SIGNATURE : JWT_KEY_MISFIT;
    }
    return fault;
}

static enum jwt_fault check_signature(const struct jwt_keys *keys, struct str token,
                                      const struct parts *parts)
{
    json_t *header = decode_object(parts->header);
    enum jwt_fault fault = JWT_MALFORMED;
    cjose_jws_t *jws = NULL;
    if (header == NULL || !is_base64url(parts->payload) || !is_base64url(parts->signature))
        goto out;
    const json_t *alg = json_object_get(header, "alg"), *kid = json_object_get(header, "kid");
    if (!json_is_string(alg) || (kid != NULL && !json_is_string(kid)) ||
        json_object_get(header, "crit") != NULL)
        goto out;
    const struct jwt_algorithm *algorithm = jwt_algorithm_find(json_str(alg));
    fault = JWT_ALGORITHM;
    if (algorithm == NULL)
        goto out;
    fault = JWT_NO_KEY;
    if (keys == NULL)
        goto out;
    jws = cjose_jws_import(token.at, token.n, NULL);
    fault = jws == NULL ? JWT_MALFORMED : try_keys(keys, jws, algorithm, json_str(kid));
out:
    if (jws != NULL)
        cjose_jws_release(jws);
    json_decref(header);
    return fault;
}

/* --- claims ----------------------------------------------------------------------------------- */

static bool holds(const json_t *texts, struct str wanted)
{
    for (size_t i = 0; i < json_array_size(texts); i++)
        if (str_eq(json_str(json_array_get(texts, i)), wanted))
            return true;
    return str_eq(json_str(texts), wanted);
}

static bool is_audience(const json_t *payload, struct str audience)
{
    return audience.n > 0 && (holds(json_object_get(payload, "aud"), audience) ||
                              str_eq(json_member_str(payload, "azp"), audience));
}

/* An account's name, except for ':', which names of providers have. */
static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.at[i] <= ' ' || s.at[i] == 0x7f)
            return false;
    return s.n > 0 && s.n <= JWT_SUB_MAX_BYTES;
}

static enum jwt_fault check_claims(const json_t *payload, const struct jwt_policy *policy,
                                   uint64_t now_s)
{
    const json_t *exp = json_object_get(payload, "exp"), *nbf = json_object_get(payload, "nbf");
    if (!json_is_number(exp) || (nbf != NULL && !json_is_number(nbf)))
        return JWT_CLAIMS;
    if ((double)now_s >= json_number_value(exp) + JWT_SKEW_S)
        return JWT_EXPIRED;
    if (nbf != NULL && json_number_value(nbf) > (double)now_s + JWT_SKEW_S)
        return JWT_NOT_YET;
    if (policy->issuer.n > 0 && !str_eq(json_member_str(payload, "iss"), policy->issuer))
        return JWT_ISSUER;
    if (!is_audience(payload, policy->audience))
        return JWT_AUDIENCE;
    return is_name(json_member_str(payload, "sub")) ? JWT_GOOD : JWT_SUBJECT;
}

enum jwt_fault jwt_verify(const struct jwt_keys *keys, struct str token,
                          const struct jwt_policy *policy, uint64_t now_s,
                          struct jwt_claims *ret_claims)
{
    struct parts parts;
    if (token.n > JWT_MAX_BYTES)
        return JWT_TOO_LARGE;
    if (!cut_parts(token, &parts))
        return JWT_MALFORMED;
    enum jwt_fault fault = check_signature(keys, token, &parts);
    if (fault != JWT_GOOD)
        return fault;
    json_t *payload = decode_object(parts.payload);
    if (payload == NULL)
        return JWT_MALFORMED;
    fault = check_claims(payload, policy, now_s);
    if (fault != JWT_GOOD) {
        json_decref(payload);
        return fault;
    }
    struct jwt_claims claims = {.payload = payload, .sub = json_member_str(payload, "sub")};
    static const char *const names[] = {"preferred_username", "name", "sub"};
    for (size_t i = 0; claims.username.n == 0; i++)
        claims.username = json_member_str(payload, names[i]);
    struct str email = json_member_str(payload, "email");
    if (email.n > 0)
        claims.email = email;
    double exp = json_number_value(json_object_get(payload, "exp"));
    claims.expires_s = exp < (double)EXPIRES_MAX_S ? (uint64_t)exp : EXPIRES_MAX_S;
    *ret_claims = claims;
    return JWT_GOOD;
}

void jwt_put_roles(struct buf *b, const struct jwt_claims *claims)
{
    const json_t *roles = json_object_get(claims->payload, "roles");
    if (!json_is_array(roles))
        roles = json_object_get(json_object_get(claims->payload, "realm_access"), "roles");
    if (!json_is_array(roles))
        roles = json_object_get(claims->payload, "groups");
    const char *before = "[";
    for (size_t i = 0; i < json_array_size(roles); i++) {
        const json_t *role = json_array_get(roles, i);
        if (!json_is_string(role))
            continue;
        buf_put(b, str_of(before));
        buf_put_json(b, json_str(role));
        before = ",";
    }
    buf_put(b, *before == '[' ? STR("[]") : STR("]"));
}

void jwt_claims_fini(struct jwt_claims *claims)
{
    json_decref(claims->payload);
    *claims = (struct jwt_claims){0};
}
