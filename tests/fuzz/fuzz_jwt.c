/* SPDX-License-Identifier: MIT
 * fuzz_jwt.c - any bytes as a key set, as a token, as the parts of a token, and as header or
 * payload of a token that carries a good signature. The first byte of the input chooses. */
#include "shared/auth/jwt.h"
#include "tests/support/jose.h"

#include <stdlib.h>

enum { NOW = 1742864523, MAX_BYTES = 64 << 10 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static const struct jwt_policy policy = {STR("https://id.example"), STR("parley")};
static const struct str good_header = STR("{\"alg\":\"ES256\",\"kid\":\"e\"}");
static EVP_PKEY *key;
static struct jwt_keys *keys;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char reason[200];
    struct buf b;
    key = EVP_EC_gen("P-256");
    EVP_PKEY *rsa = EVP_RSA_gen(2048);
    buf_init(&b, MAX_BYTES);
    buf_lit(&b, "{\"keys\":[");
    jose_put_jwk(&b, key, ",\"kid\":\"e\"");
    buf_put_char(&b, ',');
    jose_put_jwk(&b, rsa, ",\"kid\":\"r\"");
    buf_lit(&b, "]}");
    if (!jwt_keys_parse(buf_str(&b), reason, sizeof reason, &keys))
        abort();
    EVP_PKEY_free(rsa);
    buf_fini(&b);
    return 0;
}

static void verify(struct str token)
{
    struct jwt_claims claims = {.sub = {"untouched", 9}};
    enum jwt_fault fault = jwt_verify(keys, token, &policy, NOW, &claims);
    assert(jwt_fault_text(fault) != NULL);
    if (fault != JWT_GOOD) {
        assert(claims.payload == NULL && str_eq(claims.sub, STR("untouched")));
        return;
    }
    assert(token.n <= JWT_MAX_BYTES && claims.sub.n > 0 && claims.sub.n <= JWT_SUB_MAX_BYTES);
    assert(claims.username.n > 0 && str_is_utf8(claims.username) && str_is_utf8(claims.email));

    /* Roles are a JSON list of texts, whatever they were. */
    char reason[200];
    json_t *roles;
    struct buf b;
    buf_init(&b, MAX_BYTES);
    jwt_put_roles(&b, &claims);
    bool is_json = json_parse(buf_str(&b), reason, sizeof reason, &roles);
    assert(is_json && json_is_array(roles));
    for (size_t i = 0; i < json_array_size(roles); i++)
        assert(json_is_string(json_array_get(roles, i)));
    json_decref(roles);
    buf_fini(&b);
    jwt_claims_fini(&claims);
}

static void parse_keys(struct str json)
{
    char reason[200];
    struct jwt_keys *parsed = NULL;
    if (jwt_keys_parse(json, reason, sizeof reason, &parsed)) {
        assert(jwt_keys_count(parsed) > 0 && jwt_keys_count(parsed) <= JWT_KEYS_MAX);
        jwt_keys_destroy(parsed);
    } else {
        assert(parsed == NULL && memchr(reason, 0, sizeof reason) != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > JWT_MAX_BYTES + 2)
        return 0;
    uint8_t form = *data % 5;
    struct str input = {(const char *)data + 1, size - 1};
    struct buf b;
    buf_init(&b, MAX_BYTES);
    if (form == 0) {
        parse_keys(input);
    } else if (form == 1) {
        verify(input);
    } else if (form == 2) {
        /* Header, payload and signature as they are, cut at NULs. */
        for (struct str part = str_cut(&input, 0); part.at != NULL; part = str_cut(&input, 0)) {
            if (b.n > 0)
                buf_put_char(&b, '.');
            jose_put_bytes(&b, part.at, part.n);
        }
        verify(buf_str(&b));
    } else {
        jose_put_token(&b, form == 3 ? input : good_header, form == 3 ? STR("{}") : input, key,
                       "ES256");
        verify(buf_str(&b));
    }
    buf_fini(&b);
    return 0;
}
