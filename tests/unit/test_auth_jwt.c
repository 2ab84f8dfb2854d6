/* SPDX-License-Identifier: MIT
 * Tokens of a provider: what its keys signed is taken for its time, and nothing that resembles it.
 * Keys and signatures are OpenSSL's own (tests/support/jose.h). */
#include "shared/auth/jwt.h"
#include "tests/support/jose.h"

#include <openssl/hmac.h>
#include <openssl/x509.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { NOW = 1742864523, MAX_BYTES = 64 << 10 };

#define BASE "\"iss\":\"https://id.example\",\"aud\":\"parley\",\"sub\":\"alice\""
#define PAYLOAD "{" BASE ",\"exp\":1742864600}"

static const struct jwt_policy policy = {STR("https://id.example"), STR("parley")};
static EVP_PKEY *rsa, *other_rsa, *p256, *p384, *p521;
static struct jwt_keys *all; /* r: rsa, e2: p256, e3: p384, e5: p521 */

static struct jwt_keys *parse(const char *json)
{
    char reason[200];
    struct jwt_keys *keys = NULL;
    if (!jwt_keys_parse(str_of(json), reason, sizeof reason, &keys)) {
        assert_null(keys);
        assert_true(strlen(reason) > 0);
    }
    return keys;
}

/* A set of keys: pairs of key and further members, ended by NULL. */
static struct jwt_keys *set_of(const EVP_PKEY *key, const char *more, ...)
{
    struct buf b;
    va_list rest;
    buf_init(&b, MAX_BYTES);
    va_start(rest, more);
    for (const char *before = "{\"keys\":["; key != NULL; before = ",") {
        buf_put(&b, str_of(before));
        jose_put_jwk(&b, key, more);
        key = va_arg(rest, const EVP_PKEY *);
        more = key == NULL ? NULL : va_arg(rest, const char *);
    }
    va_end(rest);
    buf_lit(&b, "]}");
    buf_terminate(&b);
    struct jwt_keys *keys = parse(b.at);
    buf_fini(&b);
    return keys;
}

static int make_keys(void **state)
{
    rsa = EVP_RSA_gen(2048);
    other_rsa = EVP_RSA_gen(2048);
    p256 = EVP_EC_gen("P-256");
    p384 = EVP_EC_gen("P-384");
    p521 = EVP_EC_gen("P-521");
    all = set_of(rsa, ",\"kid\":\"r\"", p256, ",\"kid\":\"e2\",\"use\":\"sig\"", p384,
                 ",\"kid\":\"e3\",\"key_ops\":[\"verify\"]", p521,
                 ",\"kid\":\"e5\",\"alg\":\"ES512\"", NULL);
    return all != NULL && jwt_keys_count(all) == 4 ? 0 : 1;
}

static int free_keys(void **state)
{
    jwt_keys_destroy(all);
    EVP_PKEY *keys[] = {rsa, other_rsa, p256, p384, p521};
    for (size_t i = 0; i < 5; i++)
        EVP_PKEY_free(keys[i]);
    return 0;
}

static enum jwt_fault verify_under(const struct jwt_keys *keys, struct str token)
{
    struct jwt_claims claims;
    memset(&claims, 'x', sizeof claims);
    enum jwt_fault fault = jwt_verify(keys, token, &policy, NOW, &claims);
    if (fault == JWT_GOOD) {
        assert_true(str_eq(claims.sub, STR("alice")));
        jwt_claims_fini(&claims);
    } else {
        for (size_t i = 0; i < sizeof claims; i++)
            assert_int_equal(((char *)&claims)[i], 'x');
    }
    return fault;
}

/* What becomes of a token of that header and payload, signed by `key` as `alg` says. */
static enum jwt_fault judge(const struct jwt_keys *keys, const char *header, const char *payload,
                            EVP_PKEY *key, const char *alg)
{
    struct buf b;
    buf_init(&b, MAX_BYTES);
    jose_put_token(&b, str_of(header), str_of(payload), key, alg);
    enum jwt_fault fault = verify_under(keys, buf_str(&b));
    buf_fini(&b);
    return fault;
}

/* A good signature over any claims. */
static enum jwt_fault judge_claims(const char *payload)
{
    return judge(all, "{\"alg\":\"ES256\",\"kid\":\"e2\"}", payload, p256, "ES256");
}

static void every_algorithm_with_a_public_key_passes(void **state)
{
    static const char *const names[] = {"RS256", "RS384", "RS512", "PS256", "PS384",
                                        "PS512", "ES256", "ES384", "ES512"};
    EVP_PKEY *keys[] = {rsa, rsa, rsa, rsa, rsa, rsa, p256, p384, p521};
    const char *kids[] = {"r", "r", "r", "r", "r", "r", "e2", "e3", "e5"};
    for (size_t i = 0; i < 9; i++) {
        char header[100];
        snprintf(header, sizeof header, "{\"alg\":\"%s\",\"kid\":\"%s\",\"typ\":\"JWT\"}", names[i],
                 kids[i]);
        assert_int_equal(judge(all, header, PAYLOAD, keys[i], names[i]), JWT_GOOD);
        snprintf(header, sizeof header, "{\"alg\":\"%s\"}", names[i]);
        assert_int_equal(judge(all, header, PAYLOAD, keys[i], names[i]), JWT_GOOD);
    }
}

static void an_unsigned_token_is_refused(void **state)
{
    static const char *const names[] = {"none", "None", "NONE", "nOnE", "", "dir", "A128KW"};
    for (size_t i = 0; i < 7; i++) {
        char header[60];
        struct buf b;
        snprintf(header, sizeof header, "{\"alg\":\"%s\",\"kid\":\"r\"}", names[i]);
        assert_int_equal(judge(all, header, PAYLOAD, rsa, "RS256"), JWT_ALGORITHM);
        buf_init(&b, MAX_BYTES);
        jose_put_bytes(&b, header, strlen(header));
        buf_put_char(&b, '.');
        jose_put_bytes(&b, PAYLOAD, strlen(PAYLOAD));
        assert_int_equal(verify_under(all, buf_str(&b)), JWT_MALFORMED);
        buf_put_char(&b, '.');
        assert_int_equal(verify_under(all, buf_str(&b)), JWT_MALFORMED);
        buf_fini(&b);
    }
}

/* The attack that made HMAC a matter of its own: the public key, which everybody has, as secret. */
static void an_hmac_under_the_public_key_is_refused(void **state)
{
    unsigned char *der = NULL, mac[EVP_MAX_MD_SIZE];
    unsigned mac_n;
    int der_n = i2d_PUBKEY(rsa, &der);
    assert_true(der_n > 0);
    static const char *const headers[] = {"{\"alg\":\"HS256\",\"kid\":\"r\"}",
                                          "{\"alg\":\"HS256\"}",
                                          "{\"alg\":\"HS512\",\"kid\":\"r\"}"};
    for (size_t i = 0; i < 3; i++) {
        struct buf b;
        buf_init(&b, MAX_BYTES);
        jose_put_bytes(&b, headers[i], strlen(headers[i]));
        buf_put_char(&b, '.');
        jose_put_bytes(&b, PAYLOAD, strlen(PAYLOAD));
        HMAC(i == 2 ? EVP_sha512() : EVP_sha256(), der, der_n, (unsigned char *)b.at, b.n, mac,
             &mac_n);
        buf_put_char(&b, '.');
        jose_put_bytes(&b, mac, mac_n);
        assert_int_equal(verify_under(all, buf_str(&b)), JWT_ALGORITHM);
        buf_fini(&b);
    }
    OPENSSL_free(der);
}

static void a_secret_in_the_key_set_is_no_key(void **state)
{
    assert_null(parse("{\"keys\":[{\"kty\":\"oct\",\"kid\":\"s\",\"k\":\"c2VjcmV0\"}]}"));
}

static void the_algorithm_must_fit_the_key(void **state)
{
    assert_int_equal(judge(all, "{\"alg\":\"ES256\",\"kid\":\"r\"}", PAYLOAD, p256, "ES256"),
                     JWT_KEY_MISFIT);
    assert_int_equal(judge(all, "{\"alg\":\"RS256\",\"kid\":\"e2\"}", PAYLOAD, rsa, "RS256"),
                     JWT_KEY_MISFIT);
    /* A curve belongs to one algorithm. */
    assert_int_equal(judge(all, "{\"alg\":\"ES512\",\"kid\":\"e3\"}", PAYLOAD, p384, "ES512"),
                     JWT_KEY_MISFIT);
    struct jwt_keys *keys = set_of(rsa, ",\"kid\":\"r\",\"alg\":\"RS256\"", NULL);
    assert_int_equal(judge(keys, "{\"alg\":\"RS256\",\"kid\":\"r\"}", PAYLOAD, rsa, "RS256"),
                     JWT_GOOD);
    assert_int_equal(judge(keys, "{\"alg\":\"PS256\",\"kid\":\"r\"}", PAYLOAD, rsa, "PS256"),
                     JWT_KEY_MISFIT);
    jwt_keys_destroy(keys);
}

static void keys_that_are_not_for_verifying_are_passed_over(void **state)
{
    static const char *const more[] = {",\"use\":\"enc\"",
                                       ",\"key_ops\":[\"encrypt\"]",
                                       ",\"key_ops\":[]",
                                       ",\"key_ops\":\"verify\"",
                                       ",\"alg\":\"RSA-OAEP\"",
                                       ",\"alg\":\"ES256\"",
                                       ",\"alg\":\"HS256\"",
                                       ",\"alg\":null",
                                       ",\"kid\":7",
                                       ",\"use\":null"};
    for (size_t i = 0; i < 10; i++)
        assert_null(set_of(rsa, more[i], NULL));
    struct jwt_keys *keys = set_of(rsa, ",\"use\":\"enc\"", p256, ",\"kid\":\"e\"", NULL);
    assert_int_equal(jwt_keys_count(keys), 1);
    jwt_keys_destroy(keys);
}

static void weak_and_broken_keys_are_passed_over(void **state)
{
    EVP_PKEY *weak = EVP_RSA_gen(1024);
    assert_null(set_of(weak, "", NULL));
    EVP_PKEY_free(weak);
    struct buf b;
    buf_init(&b, MAX_BYTES);
    /* Under the exponent 1 every message is its own signature. */
    static const char *const exponents[] = {"AQ", "AA", "Ag", "", "AAEB", "AQABAQABAQABAQAB", "A"};
    for (size_t i = 0; i < 7; i++) {
        buf_clear(&b);
        buf_lit(&b, "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"");
        jose_put_number(&b, rsa, OSSL_PKEY_PARAM_RSA_N, 0);
        buf_printf(&b, "\",\"e\":\"%s\"}]}", exponents[i]);
        buf_terminate(&b);
        assert_null(parse(b.at));
    }
    /* A point that is not on its curve, and coordinates of a wrong length. */
    assert_null(parse("{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\","
                      "\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\","
                      "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\"}]}"));
    assert_null(
        parse("{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAB\",\"y\":\"AAAB\"}]}"));
    assert_null(parse("{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\","
                      "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}"));
    buf_fini(&b);
}

static void a_key_set_of_another_form_is_refused(void **state)
{
    static const char *const sets[] = {"",
                                       "{}",
                                       "[]",
                                       "null",
                                       "{\"keys\":{}}",
                                       "{\"keys\":[]}",
                                       "{\"keys\":[1,null,\"x\",{},[]]}",
                                       "{\"keys\":[{\"kty\":1}]}",
                                       "{\"keys\":[]} x"};
    for (size_t i = 0; i < 9; i++)
        assert_null(parse(sets[i]));
    struct buf b;
    buf_init(&b, JWT_KEYS_MAX_BYTES + 100);
    buf_lit(&b, "{\"keys\":[1");
    for (int i = 0; i < JWT_KEYS_MAX; i++)
        buf_lit(&b, ",1");
    buf_lit(&b, "]}");
    buf_terminate(&b);
    assert_null(parse(b.at));
    while (b.n <= JWT_KEYS_MAX_BYTES)
        buf_put_char(&b, ' ');
    buf_terminate(&b);
    assert_null(parse(b.at));
    buf_fini(&b);
}

static void an_unknown_key_differs_from_a_wrong_signature(void **state)
{
    assert_int_equal(judge(all, "{\"alg\":\"RS256\",\"kid\":\"new\"}", PAYLOAD, rsa, "RS256"),
                     JWT_NO_KEY);
    assert_int_equal(judge(all, "{\"alg\":\"RS256\",\"kid\":\"\"}", PAYLOAD, rsa, "RS256"),
                     JWT_NO_KEY);
    assert_int_equal(judge(all, "{\"alg\":\"RS256\",\"kid\":\"r\"}", PAYLOAD, other_rsa, "RS256"),
                     JWT_SIGNATURE);
    assert_int_equal(judge(all, "{\"alg\":\"RS256\"}", PAYLOAD, other_rsa, "RS256"), JWT_NO_KEY);
    assert_int_equal(judge(NULL, "{\"alg\":\"RS256\",\"kid\":\"r\"}", PAYLOAD, rsa, "RS256"),
                     JWT_NO_KEY);
    /* Two keys of one name: both count. */
    struct jwt_keys *keys = set_of(other_rsa, ",\"kid\":\"r\"", rsa, ",\"kid\":\"r\"", NULL);
    assert_int_equal(judge(keys, "{\"alg\":\"RS256\",\"kid\":\"r\"}", PAYLOAD, rsa, "RS256"),
                     JWT_GOOD);
    jwt_keys_destroy(keys);
    /* A key without a name is for tokens that name none. */
    keys = set_of(rsa, "", NULL);
    assert_int_equal(judge(keys, "{\"alg\":\"RS256\"}", PAYLOAD, rsa, "RS256"), JWT_GOOD);
    assert_int_equal(judge(keys, "{\"alg\":\"RS256\",\"kid\":\"r\"}", PAYLOAD, rsa, "RS256"),
                     JWT_NO_KEY);
    jwt_keys_destroy(keys);
}

static void a_token_with_any_byte_changed_is_refused(void **state)
{
    struct buf b;
    buf_init(&b, MAX_BYTES);
    jose_put_token(&b, STR("{\"alg\":\"ES256\",\"kid\":\"e2\"}"), STR(PAYLOAD), p256, "ES256");
    assert_int_equal(verify_under(all, buf_str(&b)), JWT_GOOD);
    for (size_t i = 0; i < b.n; i++) {
        char was = b.at[i];
        b.at[i] = was == 'A' ? 'B' : 'A';
        assert_int_not_equal(verify_under(all, buf_str(&b)), JWT_GOOD);
        b.at[i] = '=';
        assert_int_not_equal(verify_under(all, buf_str(&b)), JWT_GOOD);
        b.at[i] = was;
        assert_int_not_equal(verify_under(all, (struct str){b.at, i}), JWT_GOOD);
    }
    buf_put_char(&b, '.');
    assert_int_equal(verify_under(all, buf_str(&b)), JWT_MALFORMED);
    buf_fini(&b);
}

static void an_all_zero_signature_is_refused(void **state)
{
    static const unsigned char zeros[256];
    static const struct {
        const char *header;
        size_t n;
    } cases[] = {
        {"{\"alg\":\"ES256\",\"kid\":\"e2\"}", 64},  {"{\"alg\":\"ES256\",\"kid\":\"e2\"}", 1},
        {"{\"alg\":\"ES512\",\"kid\":\"e5\"}", 132}, {"{\"alg\":\"RS256\",\"kid\":\"r\"}", 256},
        {"{\"alg\":\"PS256\",\"kid\":\"r\"}", 256},  {"{\"alg\":\"PS256\",\"kid\":\"r\"}", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b;
        buf_init(&b, MAX_BYTES);
        jose_put_bytes(&b, cases[i].header, strlen(cases[i].header));
        buf_put_char(&b, '.');
        jose_put_bytes(&b, PAYLOAD, strlen(PAYLOAD));
        buf_put_char(&b, '.');
        jose_put_bytes(&b, zeros, cases[i].n);
        assert_int_equal(verify_under(all, buf_str(&b)), JWT_SIGNATURE);
        buf_fini(&b);
    }
}

static void a_header_of_another_form_is_refused(void **state)
{
    static const char *const headers[] = {
        "{}",
        "[]",
        "\"ES256\"",
        "{\"alg\":1}",
        "{\"alg\":null}",
        "{\"alg\":[\"ES256\"]}",
        "{\"alg\":\"ES256\",\"kid\":1}",
        "{\"alg\":\"ES256\",\"kid\":null}",
        "{\"alg\":\"ES256\",\"kid\":\"e2\",\"crit\":[\"b64\"],\"b64\":false}",
        "{\"alg\":\"ES256\",\"kid\":\"e2\",\"crit\":[]}",
        "{\"alg\":\"ES256\",\"kid\":\"e2\"} x",
        "alg"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        assert_int_equal(judge(all, headers[i], PAYLOAD, p256, "ES256"), JWT_MALFORMED);
    static const char *const not_ours[] = {"es256", "ES256 ", "ES256K", "EdDSA", "RS1"};
    for (size_t i = 0; i < 5; i++) {
        char header[60];
        snprintf(header, sizeof header, "{\"alg\":\"%s\",\"kid\":\"e2\"}", not_ours[i]);
        assert_int_equal(judge(all, header, PAYLOAD, p256, "ES256"), JWT_ALGORITHM);
    }
}

static void a_token_is_at_most_8_kib(void **state)
{
    struct buf payload, b;
    buf_init(&payload, MAX_BYTES);
    buf_init(&b, MAX_BYTES);
    for (size_t pad = 5900; pad < 6100; pad += 20) {
        buf_clear(&payload);
        buf_clear(&b);
        buf_lit(&payload, "{" BASE ",\"exp\":1742864600,\"pad\":\"");
        while (payload.n < pad)
            buf_put_char(&payload, 'x');
        buf_lit(&payload, "\"}");
        jose_put_token(&b, STR("{\"alg\":\"ES256\",\"kid\":\"e2\"}"), buf_str(&payload), p256,
                       "ES256");
        assert_int_equal(verify_under(all, buf_str(&b)),
                         b.n <= JWT_MAX_BYTES ? JWT_GOOD : JWT_TOO_LARGE);
    }
    assert_true(b.n > JWT_MAX_BYTES);
    buf_fini(&payload);
    buf_fini(&b);
}

static void a_token_lives_from_nbf_to_exp_with_a_minute_of_skew(void **state)
{
    static const struct {
        const char *claims;
        enum jwt_fault fault;
    } cases[] = {
        {"\"exp\":1742864464", JWT_GOOD}, /* NOW - 59 */
        {"\"exp\":1742864463", JWT_EXPIRED},
        {"\"exp\":1742864463.5", JWT_GOOD},
        {"\"exp\":0", JWT_EXPIRED},
        {"\"exp\":-1", JWT_EXPIRED},
        {"\"exp\":1e300", JWT_GOOD},
        {"\"exp\":9223372036854775807", JWT_GOOD},
        {"\"exp\":\"1742868123\"", JWT_CLAIMS},
        {"\"exp\":null", JWT_CLAIMS},
        {"\"iat\":1742864523", JWT_CLAIMS},
        {"\"exp\":1742868123,\"nbf\":1742864583", JWT_GOOD}, /* NOW + 60 */
        {"\"exp\":1742868123,\"nbf\":1742864584", JWT_NOT_YET},
        {"\"exp\":1742868123,\"nbf\":true", JWT_CLAIMS},
        {"\"exp\":1742868123,\"nbf\":null", JWT_CLAIMS},
        {"\"exp\":92233720368547758070", JWT_MALFORMED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char payload[300];
        snprintf(payload, sizeof payload, "{" BASE ",%s}", cases[i].claims);
        assert_int_equal(judge_claims(payload), cases[i].fault);
    }
}

static void issuer_audience_and_sub_must_fit(void **state)
{
#define EXP ",\"exp\":1742864600}"
    static const struct {
        const char *payload;
        enum jwt_fault fault;
    } cases[] = {
        {"{\"iss\":\"https://id.example/\",\"aud\":\"parley\",\"sub\":\"alice\"" EXP, JWT_ISSUER},
        {"{\"iss\":[\"https://id.example\"],\"aud\":\"parley\",\"sub\":\"alice\"" EXP, JWT_ISSUER},
        {"{\"aud\":\"parley\",\"sub\":\"alice\"" EXP, JWT_ISSUER},
        {"{\"iss\":\"https://id.example\",\"aud\":\"Parley\",\"sub\":\"alice\"" EXP, JWT_AUDIENCE},
        {"{\"iss\":\"https://id.example\",\"aud\":[],\"sub\":\"alice\"" EXP, JWT_AUDIENCE},
        {"{\"iss\":\"https://id.example\",\"aud\":{\"parley\":1},\"sub\":\"alice\"" EXP,
         JWT_AUDIENCE},
        {"{\"iss\":\"https://id.example\",\"azp\":[\"parley\"],\"sub\":\"alice\"" EXP,
         JWT_AUDIENCE},
        {"{\"iss\":\"https://id.example\",\"sub\":\"alice\"" EXP, JWT_AUDIENCE},
        {"{\"iss\":\"https://id.example\",\"aud\":[1,\"x\",\"parley\"],\"sub\":\"alice\"" EXP,
         JWT_GOOD},
        {"{\"iss\":\"https://id.example\",\"aud\":\"x\",\"azp\":\"parley\",\"sub\":\"alice\"" EXP,
         JWT_GOOD},
        {"{\"iss\":\"https://id.example\",\"aud\":\"parley\"" EXP, JWT_SUBJECT},
        {"{\"iss\":\"https://id.example\",\"aud\":\"parley\",\"sub\":\"\"" EXP, JWT_SUBJECT},
        {"{\"iss\":\"https://id.example\",\"aud\":\"parley\",\"sub\":7" EXP, JWT_SUBJECT},
        {"{\"iss\":\"https://id.example\",\"aud\":\"parley\",\"sub\":\"a b\"" EXP, JWT_SUBJECT},
        {"{\"iss\":\"https://id.example\",\"aud\":\"parley\",\"sub\":\"a\\nb\"" EXP, JWT_SUBJECT},
        {"{\"iss\":\"https://id.example\",\"aud\":\"parley\",\"sub\":\"a\\u007f\"" EXP,
         JWT_SUBJECT},
        {"{\"iss\":\"https://id.example\",\"aud\":\"parley\",\"sub\":\"a\\u0000b\"" EXP,
         JWT_MALFORMED},
        {"[]", JWT_MALFORMED},
        {"no JSON", JWT_MALFORMED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(judge_claims(cases[i].payload), cases[i].fault);

    for (size_t n = 128; n <= 129; n++) {
        char payload[400];
        snprintf(payload, sizeof payload,
                 "{\"iss\":\"https://id.example\",\"aud\":\"parley\",\"exp\":1742864600,"
                 "\"sub\":\"%0*d\"}",
                 (int)n, 0);
        struct buf b;
        struct jwt_claims claims;
        buf_init(&b, MAX_BYTES);
        jose_put_token(&b, STR("{\"alg\":\"ES256\"}"), str_of(payload), p256, "ES256");
        enum jwt_fault fault = jwt_verify(all, buf_str(&b), &policy, NOW, &claims);
        assert_int_equal(fault, n == 128 ? JWT_GOOD : JWT_SUBJECT);
        if (fault == JWT_GOOD)
            jwt_claims_fini(&claims);
        buf_fini(&b);
    }
}

static void without_an_issuer_of_our_own_none_is_compared(void **state)
{
    static const struct jwt_policy open = {{NULL, 0}, STR("parley")};
    static const struct jwt_policy no_audience = {{NULL, 0}, {NULL, 0}};
    struct jwt_claims claims;
    struct buf b;
    buf_init(&b, MAX_BYTES);
    jose_put_token(&b, STR("{\"alg\":\"ES256\"}"), STR(PAYLOAD), p256, "ES256");
    assert_int_equal(jwt_verify(all, buf_str(&b), &open, NOW, &claims), JWT_GOOD);
    jwt_claims_fini(&claims);
    /* The audience is never left out. */
    assert_int_equal(jwt_verify(all, buf_str(&b), &no_audience, NOW, &claims), JWT_AUDIENCE);
    buf_fini(&b);
}

static void names_and_roles_are_found_where_providers_put_them(void **state)
{
    static const struct {
        const char *claims, *username, *email, *roles;
    } cases[] = {
        {"\"x\":1", "alice", NULL, "[]"},
        {"\"name\":\"Alice A.\",\"email\":\"a@example.org\"", "Alice A.", "a@example.org", "[]"},
        {"\"name\":\"Alice A.\",\"preferred_username\":\"al\",\"email\":\"\"", "al", NULL, "[]"},
        {"\"name\":\"\",\"preferred_username\":7,\"email\":7", "alice", NULL, "[]"},
        {"\"roles\":[\"a\",1,\"\\\"b\\u00e9\"],\"groups\":[\"g\"]", "alice", NULL,
         "[\"a\",\"\\\"b\xc3\xa9\"]"},
        {"\"roles\":\"a\",\"realm_access\":{\"roles\":[\"r\",null]}", "alice", NULL, "[\"r\"]"},
        {"\"realm_access\":7,\"groups\":[\"g\",\"h\"]", "alice", NULL, "[\"g\",\"h\"]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char payload[400];
        struct buf b, roles;
        struct jwt_claims claims;
        snprintf(payload, sizeof payload, "{" BASE ",\"exp\":1742864600,%s}", cases[i].claims);
        buf_init(&b, MAX_BYTES);
        buf_init(&roles, MAX_BYTES);
        jose_put_token(&b, STR("{\"alg\":\"ES256\"}"), str_of(payload), p256, "ES256");
        assert_int_equal(jwt_verify(all, buf_str(&b), &policy, NOW, &claims), JWT_GOOD);
        assert_true(str_eq(claims.username, str_of(cases[i].username)));
        assert_true(str_eq(claims.email, str_of(cases[i].email)));
        assert_int_equal(claims.email.at == NULL, cases[i].email == NULL);
        jwt_put_roles(&roles, &claims);
        assert_true(str_eq(buf_str(&roles), str_of(cases[i].roles)));
        jwt_claims_fini(&claims);
        buf_fini(&b);
        buf_fini(&roles);
    }
}

static void every_fault_has_words(void **state)
{
    for (int fault = 0; fault < JWT_FAULT_NR; fault++)
        assert_true(strlen(jwt_fault_text((enum jwt_fault)fault)) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_with_a_public_key_passes),
        cmocka_unit_test(an_unsigned_token_is_refused),
        cmocka_unit_test(an_hmac_under_the_public_key_is_refused),
        cmocka_unit_test(a_secret_in_the_key_set_is_no_key),
        cmocka_unit_test(the_algorithm_must_fit_the_key),
        cmocka_unit_test(keys_that_are_not_for_verifying_are_passed_over),
        cmocka_unit_test(weak_and_broken_keys_are_passed_over),
        cmocka_unit_test(a_key_set_of_another_form_is_refused),
        cmocka_unit_test(an_unknown_key_differs_from_a_wrong_signature),
        cmocka_unit_test(a_token_with_any_byte_changed_is_refused),
        cmocka_unit_test(an_all_zero_signature_is_refused),
        cmocka_unit_test(a_header_of_another_form_is_refused),
        cmocka_unit_test(a_token_is_at_most_8_kib),
        cmocka_unit_test(a_token_lives_from_nbf_to_exp_with_a_minute_of_skew),
        cmocka_unit_test(issuer_audience_and_sub_must_fit),
        cmocka_unit_test(without_an_issuer_of_our_own_none_is_compared),
        cmocka_unit_test(names_and_roles_are_found_where_providers_put_them),
        cmocka_unit_test(every_fault_has_words),
    };
    return cmocka_run_group_tests(tests, make_keys, free_keys);
}
