/* SPDX-License-Identifier: MIT
 * Tokens: what login issues is accepted for its time, and nothing that resembles it. */
#include "shared/auth/token.h"

#include <openssl/hmac.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { NOW = 1742864523, HOUR = 3600, TEXT_BYTES = 16 << 10 };

#define HEADER "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"
#define GEN ",\"gen\":\"0123456789abcdef\""
#define TIMES "\"auth_time\":1742864523,\"iat\":1742864523,\"nbf\":1742864523,\"exp\":1742868123}"
#define PAYLOAD "{\"iss\":\"parley\",\"sub\":\"User_1\",\"role\":\"user\"" GEN "," TIMES

static struct token_key key;

static const struct account user_1 = {.name = STR("User_1"),
                                      .name_json = STR("\"User_1\""),
                                      .secret = STR("a secret"),
                                      .role = ROLE_USER};

static int read_key(void **state)
{
    return token_key_parse(STR("000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F"),
                           &key)
               ? 0
               : 1;
}

/* OpenSSL's encoder, made URL-safe, to be independent of the code under test. */
static size_t encode(const void *bytes, size_t n, char *out)
{
    int chars = EVP_EncodeBlock((unsigned char *)out, bytes, (int)n);
    for (char *c = out; *c != 0; c++)
        *c = (char)(*c == '+' ? '-' : *c == '/' ? '_' : *c);
    while (chars > 0 && out[chars - 1] == '=')
        out[--chars] = 0;
    return (size_t)chars;
}

/* Puts "." and the MAC behind the `n` characters in `token`. */
static struct str seal(char *token, size_t n)
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned mac_n;
    assert_non_null(
        HMAC(EVP_sha256(), key.bytes, sizeof key.bytes, (unsigned char *)token, n, mac, &mac_n));
    token[n++] = '.';
    return (struct str){token, n + encode(mac, mac_n, token + n)};
}

/* A token of any header and payload, under the right key. */
static struct str forge(const char *header, struct str payload)
{
    static char token[2 * TEXT_BYTES];
    size_t n = encode(header, strlen(header), token);
    token[n++] = '.';
    n += encode(payload.at, payload.n, token + n);
    return seal(token, n);
}

static enum err verify_at(struct str token, uint64_t now_s)
{
    struct token_claims claims;
    memset(&claims, 'x', sizeof claims);
    enum err error = token_read(&key, token, now_s, &claims);
    if (error != ERR_OK)
        for (size_t i = 0; i < sizeof claims; i++)
            assert_int_equal(((char *)&claims)[i], 'x');
    return error;
}

static enum err verify(struct str token)
{
    return verify_at(token, NOW);
}

static void issue(struct buf *b)
{
    buf_init(b, TEXT_BYTES);
    token_issue(b, &key, &user_1, NOW, NOW, HOUR);
    assert_false(b->is_over);
}

static void an_issued_token_is_the_plain_jwt_that_others_would_make(void **state)
{
    static const char text[] = "generation of a secret\0User_1 a secret";
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned mac_n;
    char hex[17], payload[512];
    struct buf b;
    issue(&b);
    assert_non_null(HMAC(EVP_sha256(), key.bytes, sizeof key.bytes, (const unsigned char *)text,
                         sizeof text - 1, mac, &mac_n));
    str_hex(mac, 8, hex);
    int n = snprintf(
        payload, sizeof payload,
        "{\"iss\":\"parley\",\"sub\":\"User_1\",\"role\":\"user\",\"gen\":\"%s\"," TIMES, hex);
    assert_true(str_eq(buf_str(&b), forge(HEADER, (struct str){payload, (size_t)n})));
    buf_fini(&b);
}

static void an_issued_token_gives_its_claims_back(void **state)
{
    struct token_claims claims;
    struct buf b;
    for (size_t n = 1; n <= TOKEN_SUB_MAX_BYTES; n++) {
        char name[TOKEN_SUB_MAX_BYTES];
        memset(name, '"', n);
        struct account account = user_1;
        struct buf json;
        account.role = (enum role)(n % ROLE_NR);
        account.name = (struct str){name, n};
        buf_init(&json, 1024);
        buf_put_json(&json, account.name);
        account.name_json = buf_str(&json);
        buf_init(&b, TOKEN_MAX_BYTES);
        buf_lit(&b, "Bearer ");
        token_issue(&b, &key, &account, NOW, NOW, HOUR);
        assert_true(!b.is_over && b.n < 1536);
        assert_int_equal(token_read(&key, (struct str){b.at + 7, b.n - 7}, NOW, &claims), ERR_OK);
        assert_true(str_eq(token_sub(&claims), (struct str){name, n}));
        assert_int_equal(claims.role, account.role);
        assert_int_equal(claims.expires_s, NOW + HOUR);
        buf_fini(&b);
        buf_fini(&json);
    }
}

static void a_buffer_too_small_for_a_token_is_over(void **state)
{
    struct buf b;
    for (size_t max = 0; max < 200; max++) {
        buf_init(&b, max);
        token_issue(&b, &key, &user_1, NOW, NOW, HOUR);
        assert_true(b.is_over);
        buf_fini(&b);
    }
}

static void a_token_lives_from_nbf_to_exp_give_or_take_a_minute(void **state)
{
    struct buf b;
    issue(&b);
    assert_int_equal(verify_at(buf_str(&b), NOW - TOKEN_SKEW_S - 1), ERR_UNAUTHORIZED);
    assert_int_equal(verify_at(buf_str(&b), NOW - TOKEN_SKEW_S), ERR_OK);
    assert_int_equal(verify_at(buf_str(&b), NOW + HOUR + TOKEN_SKEW_S - 1), ERR_OK);
    assert_int_equal(verify_at(buf_str(&b), NOW + HOUR + TOKEN_SKEW_S), ERR_TOKEN_EXPIRED);
    assert_int_equal(verify_at(buf_str(&b), UINT64_MAX - TOKEN_SKEW_S), ERR_TOKEN_EXPIRED);
    buf_fini(&b);
}

static void one_changed_character_anywhere_is_refused(void **state)
{
    struct buf b;
    issue(&b);
    for (size_t i = 0; i < b.n; i++) {
        char was = b.at[i];
        b.at[i] = was == 'A' ? 'B' : 'A';
        assert_int_equal(verify(buf_str(&b)), ERR_UNAUTHORIZED);
        b.at[i] = '.';
        if (was != '.')
            assert_int_equal(verify(buf_str(&b)), ERR_UNAUTHORIZED);
        b.at[i] = 0;
        assert_int_equal(verify(buf_str(&b)), ERR_UNAUTHORIZED);
        b.at[i] = was;
    }
    assert_int_equal(verify(buf_str(&b)), ERR_OK);
    buf_fini(&b);
}

static void a_cut_or_lengthened_token_is_refused(void **state)
{
    struct buf b;
    issue(&b);
    for (size_t n = 0; n < b.n; n++)
        assert_int_equal(verify((struct str){b.at, n}), ERR_UNAUTHORIZED);
    for (size_t n = 1; n < b.n; n++)
        assert_int_equal(verify((struct str){b.at + n, b.n - n}), ERR_UNAUTHORIZED);
    assert_int_equal(verify((struct str){NULL, 0}), ERR_UNAUTHORIZED);
    buf_put_char(&b, '=');
    assert_int_equal(verify(buf_str(&b)), ERR_UNAUTHORIZED);
    b.at[b.n - 1] = '.';
    assert_int_equal(verify(buf_str(&b)), ERR_UNAUTHORIZED);
    buf_fini(&b);
}

static void another_key_is_refused(void **state)
{
    struct token_key other = key;
    struct token_claims claims;
    struct buf b;
    issue(&b);
    other.bytes[31] ^= 1;
    assert_int_equal(token_read(&other, buf_str(&b), NOW, &claims), ERR_UNAUTHORIZED);
    buf_fini(&b);
}

static void other_algorithms_and_headers_are_refused_under_the_right_mac(void **state)
{
    static const char *const headers[] = {
        "{\"alg\":\"none\",\"typ\":\"JWT\"}",
        "{\"alg\":\"None\",\"typ\":\"JWT\"}",
        "{\"alg\":\"RS256\",\"typ\":\"JWT\"}",
        "{\"alg\":\"HS512\",\"typ\":\"JWT\"}",
        "{\"alg\":\"hs256\",\"typ\":\"JWT\"}",
        "{\"alg\":\"HS256\",\"typ\":\"JWE\"}",
        "{\"alg\":\"HS256\"}",
        "{\"typ\":\"JWT\"}",
        "{\"alg\":\"HS256\",\"typ\":\"JWT\",\"crit\":[\"b64\"],\"b64\":false}",
        "{\"alg\":\"HS256\",\"typ\":\"JWT\",\"alg\":\"none\"}",
        "{\"alg\":[\"HS256\"],\"typ\":\"JWT\"}",
        "{}",
        "",
        "HS256"};
    assert_int_equal(verify(forge(HEADER, STR(PAYLOAD))), ERR_OK);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        assert_int_equal(verify(forge(headers[i], STR(PAYLOAD))), ERR_UNAUTHORIZED);
}

static void alg_none_without_a_signature_is_refused(void **state)
{
    struct str token = forge("{\"alg\":\"none\",\"typ\":\"JWT\"}", STR(PAYLOAD));
    token.n -= 43; /* "header.payload." */
    assert_int_equal(verify(token), ERR_UNAUTHORIZED);
    token.n -= 1;
    assert_int_equal(verify(token), ERR_UNAUTHORIZED);
    token = forge(HEADER, STR(PAYLOAD));
    token.n -= 43;
    assert_int_equal(verify(token), ERR_UNAUTHORIZED);
}

static void claims_that_are_missing_wrong_or_foreign_are_refused_under_the_right_mac(void **state)
{
#define REST ",\"nbf\":1742864523,\"exp\":1742868123}"
#define WHO "{\"iss\":\"parley\",\"sub\":\"User_1\",\"role\":\"user\"" GEN
    static const struct str payloads[] = {
        STR(""),
        STR("{}"),
        STR("[]"),
        STR("null"),
        STR("\"x\""),
        STR(PAYLOAD "x"),
        STR(PAYLOAD "\0"),
        STR("{\"sub\":\"User_1\",\"role\":\"user\"" GEN REST),
        STR("{\"iss\":\"Parley\",\"sub\":\"User_1\",\"role\":\"user\"" GEN REST),
        STR("{\"iss\":[\"parley\"],\"sub\":\"User_1\",\"role\":\"user\"" GEN REST),
        STR("{\"iss\":\"parley\",\"role\":\"user\"" GEN REST),
        STR("{\"iss\":\"parley\",\"sub\":\"\",\"role\":\"user\"" GEN REST),
        STR("{\"iss\":\"parley\",\"sub\":7,\"role\":\"user\"" GEN REST),
        STR("{\"iss\":\"parley\",\"sub\":\"a\\u0000b\",\"role\":\"user\"" GEN REST),
        STR("{\"iss\":\"parley\",\"sub\":\"\xff\",\"role\":\"user\"" GEN REST),
        STR("{\"iss\":\"parley\",\"sub\":\"User_1\"" GEN REST),
        STR("{\"iss\":\"parley\",\"sub\":\"User_1\",\"role\":\"root\"" GEN REST),
        STR("{\"iss\":\"parley\",\"sub\":\"User_1\",\"role\":1" GEN REST),
        STR(WHO ",\"nbf\":1742864523}"),
        STR(WHO ",\"exp\":1742868123}"),
        STR(WHO ",\"nbf\":1742864523,\"exp\":\"1742868123\"}"),
        STR(WHO ",\"nbf\":1742864523,\"exp\":1742868123.5}"),
        STR(WHO ",\"nbf\":1742864523,\"exp\":null}"),
        STR(WHO ",\"nbf\":1742864523,\"exp\":-1}"),
        STR(WHO ",\"nbf\":-1,\"exp\":1742868123}"),
        STR(WHO ",\"nbf\":1742864523,\"exp\":9223372036854775807}"),
        STR(WHO ",\"nbf\":1742864523,\"exp\":99999999999999999999}"),
        STR("{\"iss\":\"parley\",\"sub\":\"User_1\",\"role\":\"user\"" REST),
        STR("{\"iss\":\"parley\",\"sub\":\"User_1\",\"role\":\"user\",\"gen\":7" REST),
        STR("{\"iss\":\"parley\",\"sub\":\"User_1\",\"role\":\"user\",\"gen\":\"012345678\"" REST),
        STR(WHO ",\"nbf\":1742864584,\"exp\":1742868123}"),
    };
    assert_int_equal(verify(forge(HEADER, STR(WHO REST))), ERR_OK);
    for (size_t i = 0; i < sizeof payloads / sizeof *payloads; i++)
        assert_int_equal(verify(forge(HEADER, payloads[i])), ERR_UNAUTHORIZED);
    assert_int_equal(verify(forge(HEADER, STR(WHO ",\"nbf\":1742864523,\"exp\":1742864463}"))),
                     ERR_TOKEN_EXPIRED);
}

/* The account that a token stands for in a file of accounts, or why there is none. */
static enum err find(const char *yaml, struct str token, uint64_t now_s)
{
    char reason[ACCOUNTS_REASON_BYTES];
    struct accounts *accounts;
    const struct account *account = NULL;
    uint64_t expires_s = 0;
    if (!accounts_parse(str_of(yaml), reason, sizeof reason, &accounts))
        fail_msg("%s", reason);
    enum err error = token_verify(&key, accounts, token, now_s, &account, &expires_s);
    assert_true((error == ERR_OK) == (account != NULL));
    assert_int_equal(expires_s, error == ERR_OK ? NOW + HOUR : 0);
    if (account != NULL)
        assert_true(str_eq(account->name, STR("User_1")));
    accounts_destroy(accounts);
    return error;
}

static void a_token_ends_with_its_accounts_secret_and_role(void **state)
{
    struct buf b;
    issue(&b);
    struct str token = buf_str(&b);
    const char *same = "accounts: {User_1: {secret: 'a secret', role: user, weight: 3}}";
    assert_int_equal(find(same, token, NOW), ERR_OK);
    assert_int_equal(find(same, token, NOW + HOUR + TOKEN_SKEW_S), ERR_TOKEN_EXPIRED);
    assert_int_equal(find(same, (struct str){token.at, token.n - 1}, NOW), ERR_UNAUTHORIZED);
    static const char *const others[] = {"accounts: {User_1: {secret: 'another', role: user}}",
                                         "accounts: {User_1: {secret: 'a secret ', role: user}}",
                                         "accounts: {User_1: {secret: 'a secret', role: frontend}}",
                                         "accounts: {User_2: {secret: 'a secret', role: user}}"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(find(others[i], token, NOW), ERR_REVOKED);
        /* Whose time is over hears that, whatever became of the account. */
        assert_int_equal(find(others[i], token, NOW + 2 * HOUR), ERR_TOKEN_EXPIRED);
    }
    buf_fini(&b);
}

static void a_sub_past_128_bytes_is_refused(void **state)
{
    char payload[TEXT_BYTES];
    for (int n = 127; n <= 300; n++) {
        int total =
            snprintf(payload, sizeof payload,
                     "{\"iss\":\"parley\",\"sub\":\"%0*d\",\"role\":\"user\"" GEN REST, n, 7);
        assert_int_equal(verify(forge(HEADER, (struct str){payload, (size_t)total})),
                         n <= 128 ? ERR_OK : ERR_UNAUTHORIZED);
    }
}

static void eight_kibibytes_is_the_limit(void **state)
{
    char payload[TEXT_BYTES];
    size_t accepted_n = 0;
    memset(payload, ' ', sizeof payload);
    memcpy(payload, PAYLOAD, sizeof PAYLOAD - 1);
    for (size_t n = 6000; n < 6200; n++) {
        struct str token = forge(HEADER, (struct str){payload, n});
        assert_int_equal(verify(token), token.n <= TOKEN_MAX_BYTES ? ERR_OK : ERR_UNAUTHORIZED);
        accepted_n += token.n <= TOKEN_MAX_BYTES;
    }
    assert_true(accepted_n > 0 && accepted_n < 200);
}

/* The MAC is right for each of these spellings, so only strict decoding refuses them. */
static void a_payload_spelt_otherwise_is_refused_under_the_right_mac(void **state)
{
    static const char *const tails[] = {"=", "==", "\n", " ", "+", "/", "A", "."};
    char token[TEXT_BYTES];
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        size_t n = encode(HEADER, strlen(HEADER), token);
        token[n++] = '.';
        n += encode(PAYLOAD, strlen(PAYLOAD), token + n);
        strcpy(token + n, tails[i]);
        assert_int_equal(verify(seal(token, n + strlen(tails[i]))), ERR_UNAUTHORIZED);
    }
    /* The last group of one or two bytes leaves bits of its last character unused: they must be 0.
     */
    for (unsigned spare = 0; spare < 3; spare++) {
        const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        struct str payload = STR(PAYLOAD "  ");
        payload.n -= spare;
        size_t n = encode(HEADER, strlen(HEADER), token);
        token[n++] = '.';
        n += encode(payload.at, payload.n, token + n);
        const char *last = strchr(digits, token[n - 1]);
        assert_non_null(last);
        if (payload.n % 3 == 0)
            continue;
        token[n - 1] = digits[(last - digits) | 1];
        assert_int_equal(verify(seal(token, n)), ERR_UNAUTHORIZED);
        token[n - 1] = *last;
        assert_int_equal(verify(seal(token, n)), ERR_OK);
    }
}

static void a_key_is_64_hex_digits(void **state)
{
    struct token_key parsed = {.bytes = {7}};
    assert_int_equal(key.bytes[0], 0);
    assert_int_equal(key.bytes[31], 0x1f);
    assert_false(token_key_parse(STR(""), &parsed));
    assert_false(token_key_parse(
        STR("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1"), &parsed));
    assert_false(token_key_parse(
        STR("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"), &parsed));
    assert_false(token_key_parse(
        STR("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1g"), &parsed));
    assert_int_equal(parsed.bytes[0], 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_issued_token_is_the_plain_jwt_that_others_would_make),
        cmocka_unit_test(an_issued_token_gives_its_claims_back),
        cmocka_unit_test(a_buffer_too_small_for_a_token_is_over),
        cmocka_unit_test(a_token_lives_from_nbf_to_exp_give_or_take_a_minute),
        cmocka_unit_test(one_changed_character_anywhere_is_refused),
        cmocka_unit_test(a_cut_or_lengthened_token_is_refused),
        cmocka_unit_test(another_key_is_refused),
        cmocka_unit_test(other_algorithms_and_headers_are_refused_under_the_right_mac),
        cmocka_unit_test(alg_none_without_a_signature_is_refused),
        cmocka_unit_test(claims_that_are_missing_wrong_or_foreign_are_refused_under_the_right_mac),
        cmocka_unit_test(a_token_ends_with_its_accounts_secret_and_role),
        cmocka_unit_test(a_sub_past_128_bytes_is_refused),
        cmocka_unit_test(eight_kibibytes_is_the_limit),
        cmocka_unit_test(a_payload_spelt_otherwise_is_refused_under_the_right_mac),
        cmocka_unit_test(a_key_is_64_hex_digits),
    };
    return cmocka_run_group_tests(tests, read_key, NULL);
}
