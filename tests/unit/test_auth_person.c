/* SPDX-License-Identifier: MIT
 * The texts with which nodes sign people of an OpenID provider in. */
#include "shared/auth/person.h"
#include "shared/base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { NOW_S = 1800000000, SKEW_S = TOKEN_SKEW_S };

static const struct token_key key = {{1, 2, 3}};
static const struct token_key other_key = {{1, 2, 4}};
static const struct str proof = STR("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
static const struct str challenge = STR("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
static const struct str source = STR("https://id.example parley");

static struct jwt_claims claims_of(const char *json)
{
    char reason[160];
    json_t *payload;
    assert_true(json_parse(str_of(json), reason, sizeof reason, &payload));
    return (struct jwt_claims){.payload = payload,
                               .sub = json_member_str(payload, "sub"),
                               .username = json_member_str(payload, "name"),
                               .email = json_member_str(payload, "email")};
}

static void a_proof_is_the_one_of_its_challenge(void **state)
{
    assert_true(person_proves(proof, challenge.at)); /* RFC 7636, appendix B */
    assert_false(person_proves(challenge, challenge.at));
    assert_false(person_proves(STR(""), challenge.at));
    assert_false(person_is_proof(STR("")));
    assert_false(person_is_proof((struct str){proof.at, proof.n - 1}));
    assert_false(person_is_proof(STR("dBjftJeZ4CVP+mB92K27uhbUJU1p1r_wW1gFWFOEjXk")));
    char derived[PERSON_PROOF_CHARS];
    person_challenge(proof.at, derived);
    assert_memory_equal(derived, challenge.at, sizeof derived);
}

static void a_state_comes_back_until_it_is_ten_minutes_old(void **state)
{
    struct person_state put, got, again;
    struct buf text, second;
    buf_init(&text, TOKEN_MAX_BYTES);
    buf_init(&second, TOKEN_MAX_BYTES);
    person_put_state(&text, &key, challenge, NOW_S, &put);
    person_put_state(&second, &key, challenge, NOW_S, &again);
    assert_memory_not_equal(put.id, again.id, sizeof put.id);
    uint64_t end_s = NOW_S + PERSON_STATE_S + SKEW_S;
    assert_int_equal(person_read_state(&key, buf_str(&text), end_s - 1, &got), ERR_OK);
    assert_memory_equal(&put, &got, sizeof put);
    assert_int_equal(person_read_state(&key, buf_str(&text), end_s, &got), ERR_TOKEN_EXPIRED);
    assert_int_equal(person_read_state(&other_key, buf_str(&text), NOW_S, &got), ERR_UNAUTHORIZED);
    for (size_t i = 0; i < text.n; i++) {
        text.at[i] ^= 1;
        assert_int_equal(person_read_state(&key, buf_str(&text), NOW_S, &got), ERR_UNAUTHORIZED);
        text.at[i] ^= 1;
    }
    buf_fini(&text);
    buf_fini(&second);
}

static void secrets_follow_from_state_key_and_use(void **state)
{
    struct person_state a = {.id = {0}}, b;
    char nonce[PERSON_SECRET_CHARS], other[PERSON_SECRET_CHARS];
    memset(a.id, '0', sizeof a.id);
    b = a;
    b.id[31] = '1';
    person_secret(&key, &a, PERSON_NONCE, nonce);
    person_secret(&key, &a, PERSON_NONCE, other);
    assert_memory_equal(nonce, other, sizeof nonce);
    person_secret(&key, &a, PERSON_VERIFIER, other);
    assert_memory_not_equal(nonce, other, sizeof nonce);
    person_secret(&key, &b, PERSON_NONCE, other);
    assert_memory_not_equal(nonce, other, sizeof nonce);
    person_secret(&other_key, &a, PERSON_NONCE, other);
    assert_memory_not_equal(nonce, other, sizeof nonce);
}

static void a_code_becomes_a_token_of_the_same_person(void **state)
{
    struct jwt_claims claims = claims_of("{\"sub\":\"a|1\",\"name\":\"Ann \\\"A\\\"\","
                                         "\"email\":\"a@b\","
                                         "\"realm_access\":{\"roles\":[\"r\"]}}");
    struct person_state of;
    struct person person, again;
    struct buf text, token, roles;
    buf_init(&text, TOKEN_MAX_BYTES);
    buf_init(&token, TOKEN_MAX_BYTES);
    buf_init(&roles, 100);
    person_put_state(&text, &key, challenge, NOW_S, &of);
    buf_clear(&text);
    person_put_code(&text, &key, source, &of, &claims, NOW_S);
    assert_true(person_is_code(buf_str(&text)) && !person_is_token(buf_str(&text)));
    assert_int_equal(person_read_code(&key, source, buf_str(&text), NOW_S, &person), ERR_OK);
    assert_memory_equal(&person.of, &of, sizeof of);
    assert_int_equal(person.proved_s, NOW_S);
    person_put_token(&token, &key, source, &person, NOW_S + 7, 3600);
    assert_int_equal(person_read_token(&key, source, buf_str(&token), NOW_S, &again), ERR_OK);
    assert_true(str_eq(again.claims.sub, claims.sub));
    assert_true(str_eq(again.claims.username, claims.username));
    assert_true(str_eq(again.claims.email, claims.email));
    assert_int_equal(again.claims.expires_s, NOW_S + 7 + 3600);
    assert_int_equal(again.proved_s, NOW_S);
    jwt_put_roles(&roles, &again.claims);
    assert_true(str_eq(buf_str(&roles), STR("[\"r\"]")));
    person_fini(&again);

    assert_int_equal(person_read_token(&key, source, buf_str(&text), NOW_S, &again),
                     ERR_UNAUTHORIZED);
    assert_int_equal(person_read_code(&key, source, buf_str(&token), NOW_S, &again),
                     ERR_UNAUTHORIZED);
    assert_int_equal(
        person_read_token(&key, STR("https://id.example other"), buf_str(&token), NOW_S, &again),
        ERR_REVOKED);
    assert_int_equal(
        person_read_code(&key, source, buf_str(&text), NOW_S + PERSON_CODE_S + SKEW_S, &again),
        ERR_TOKEN_EXPIRED);
    person_fini(&person);
    jwt_claims_fini(&claims);
    buf_fini(&text);
    buf_fini(&token);
    buf_fini(&roles);
}

/* Every character takes six in JSON. */
static void the_largest_person_fits_into_a_token(void **state)
{
    static const char control[] = "\\u0001";
    struct buf json, text;
    struct person person;
    buf_init(&json, 64 << 10);
    buf_lit(&json, "{\"sub\":\"");
    for (int i = 0; i < PERSON_TEXT_MAX_BYTES; i++)
        buf_lit(&json, "\\\\");
    for (const char *const *name = (const char *const[]){"name", "email", NULL}; *name; name++) {
        buf_printf(&json, "\",\"%s\":\"", *name);
        for (int i = 0; i < PERSON_TEXT_MAX_BYTES; i++)
            buf_put(&json, str_of(control));
    }
    buf_lit(&json, "\",\"roles\":[\"");
    for (int i = 0; i < (2 << 10) - 4; i++)
        buf_put_char(&json, 'r');
    buf_lit(&json, "\"]}");
    buf_terminate(&json);
    struct jwt_claims claims = claims_of(json.at);
    struct person_state of = {.id = {0}};
    memset(of.id, '0', sizeof of.id);
    memcpy(of.challenge, challenge.at, sizeof of.challenge);
    buf_init(&text, TOKEN_MAX_BYTES);
    person_put_code(&text, &key, source, &of, &claims, NOW_S);
    assert_false(text.is_over);
    assert_int_equal(person_read_code(&key, source, buf_str(&text), NOW_S, &person), ERR_OK);
    assert_true(str_eq(person.claims.email, claims.email));
    person_fini(&person);
    jwt_claims_fini(&claims);
    buf_fini(&json);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_proof_is_the_one_of_its_challenge),
        cmocka_unit_test(a_state_comes_back_until_it_is_ten_minutes_old),
        cmocka_unit_test(secrets_follow_from_state_key_and_use),
        cmocka_unit_test(a_code_becomes_a_token_of_the_same_person),
        cmocka_unit_test(the_largest_person_fits_into_a_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
