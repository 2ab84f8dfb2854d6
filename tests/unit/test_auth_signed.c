/* SPDX-License-Identifier: MIT
 * Signed queries: known answers, and near misses that must be refused. */
#include "shared/auth/signed.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Of "Inference_1 PSjUAS82NcDKgwXq 7b18d017f89f61cf17d", and with a newline after it. */
#define SHA1_PLAIN "d3dd6832c72b5c8f4cf194bcb85e67d81e5dcd93"
#define SHA1_NEWLINE "3f71f8a88e09b52f7ff6c73aa96826558b302d32"
#define SHA256_PLAIN "4fa91db9ecc49356add86b89886be7b7db4e4da84a8370eabdcedbbd98866fe6"
#define SHA256_NEWLINE "cea3e17944018753a100f7f66a3c5f6dcab5403329baad69f065d816b31047b7"

static const struct str user = STR("Inference_1"), nonce = STR("PSjUAS82NcDKgwXq");
static const struct str secret = STR("7b18d017f89f61cf17d");
static const struct account engine = {
    .name = STR("Inference_1"), .secret = STR("7b18d017f89f61cf17d"), .role = ROLE_ENGINE};

static const char *const right[] = {SHA1_PLAIN, SHA1_NEWLINE, SHA256_PLAIN, SHA256_NEWLINE};
enum { RIGHT_N = sizeof right / sizeof *right };

static enum err verify(struct str hash)
{
    return signed_verify(&engine, user, nonce, hash, true);
}

static void the_known_answers_pass_in_either_case(void **state)
{
    for (size_t i = 0; i < RIGHT_N; i++) {
        char upper[SIGNED_HASH_SIZE] = "";
        for (size_t j = 0; right[i][j] != 0; j++)
            upper[j] = (char)toupper((unsigned char)right[i][j]);
        assert_int_equal(verify(str_of(right[i])), ERR_OK);
        assert_int_equal(verify(str_of(upper)), ERR_OK);
    }
}

static void sha1_can_be_switched_off_and_sha256_stays(void **state)
{
    for (size_t i = 0; i < RIGHT_N; i++)
        assert_int_equal(signed_verify(&engine, user, nonce, str_of(right[i]), false),
                         i < 2 ? ERR_UNAUTHORIZED : ERR_OK);
}

static void one_changed_digit_anywhere_is_refused(void **state)
{
    for (size_t i = 0; i < RIGHT_N; i++) {
        for (size_t j = 0; right[i][j] != 0; j++) {
            char wrong[SIGNED_HASH_SIZE];
            strcpy(wrong, right[i]);
            wrong[j] = wrong[j] == '0' ? '1' : '0';
            assert_int_equal(verify(str_of(wrong)), ERR_UNAUTHORIZED);
            wrong[j] = 'g';
            assert_int_equal(verify(str_of(wrong)), ERR_UNAUTHORIZED);
            wrong[j] = 0;
            assert_int_equal(verify((struct str){wrong, strlen(right[i])}), ERR_UNAUTHORIZED);
        }
    }
}

static void hashes_of_other_lengths_are_refused(void **state)
{
    char digits[130];
    memset(digits, '0', sizeof digits);
    memcpy(digits, SHA256_PLAIN, 64);
    assert_int_equal(verify((struct str){digits, 64}), ERR_OK);
    for (size_t n = 0; n <= sizeof digits; n++)
        if (n != 64)
            assert_int_equal(verify((struct str){digits, n}), ERR_UNAUTHORIZED);
    assert_int_equal(verify((struct str){NULL, 0}), ERR_UNAUTHORIZED);
    assert_int_equal(verify(STR(SHA1_PLAIN "\n")), ERR_UNAUTHORIZED);
    assert_int_equal(verify(STR(" " SHA1_PLAIN)), ERR_UNAUTHORIZED);
}

static void another_nonce_user_or_secret_is_refused(void **state)
{
    struct account other = engine;
    assert_int_equal(signed_verify(&engine, user, STR("PSjUAS82NcDKgwXp"), STR(SHA1_PLAIN), true),
                     ERR_UNAUTHORIZED);
    other.secret = STR("7b18d017f89f61cf17e");
    assert_int_equal(signed_verify(&other, user, nonce, STR(SHA1_PLAIN), true), ERR_UNAUTHORIZED);
    other = engine;
    other.name = STR("Inference_2");
    assert_int_equal(signed_verify(&other, other.name, nonce, STR(SHA1_PLAIN), true),
                     ERR_UNAUTHORIZED);
}

static void an_unknown_user_is_refused_even_with_the_stand_in_secret(void **state)
{
    char hex[SIGNED_HASH_SIZE];
    signed_hash(user, nonce, STR("0123456789abcdef"), hex);
    assert_int_equal(signed_verify(NULL, user, nonce, str_of(hex), true), ERR_UNAUTHORIZED);
    for (size_t i = 0; i < RIGHT_N; i++)
        assert_int_equal(signed_verify(NULL, user, nonce, str_of(right[i]), true),
                         ERR_UNAUTHORIZED);
    assert_int_equal(signed_verify(NULL, (struct str){NULL, 0}, nonce, STR(SHA1_PLAIN), true),
                     ERR_UNAUTHORIZED);
}

static void a_nonce_has_1_to_128_bytes(void **state)
{
    char bytes[SIGNED_NONCE_MAX_BYTES + 1], hex[SIGNED_HASH_SIZE];
    memset(bytes, 'n', sizeof bytes);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        struct str tried = {bytes, n};
        signed_hash(user, tried, secret, hex);
        assert_int_equal(signed_verify(&engine, user, tried, str_of(hex), true),
                         n == 0 || n == sizeof bytes ? ERR_UNAUTHORIZED : ERR_OK);
    }
    struct str binary = STR("\0\n \xff");
    signed_hash(user, binary, secret, hex);
    assert_int_equal(signed_verify(&engine, user, binary, str_of(hex), true), ERR_OK);
}

static void what_is_signed_is_the_plain_sha256(void **state)
{
    char hex[SIGNED_HASH_SIZE];
    signed_hash(user, nonce, secret, hex);
    assert_string_equal(hex, SHA256_PLAIN);
}

static void a_nonce_id_differs_by_user_and_nonce(void **state)
{
    unsigned char id[SIGNED_NONCE_ID_BYTES], other[SIGNED_NONCE_ID_BYTES];
    char hex[2 * SIGNED_NONCE_ID_BYTES + 1];
    signed_nonce_id(user, nonce, id);
    str_hex(id, sizeof id, hex);
    assert_string_equal(hex, "c0e644fef582ea31510c51ce46e33581");
    signed_nonce_id(STR("Inference_1P"), STR("SjUAS82NcDKgwXq"), other);
    assert_memory_not_equal(id, other, sizeof id);
    signed_nonce_id(user, (struct str){NULL, 0}, other);
    assert_memory_not_equal(id, other, sizeof id);
}

static void a_mark_is_of_nonce_and_body(void **state)
{
    unsigned char id[SIGNED_NONCE_ID_BYTES];
    char mark[SIGNED_MARK_SIZE], other[SIGNED_MARK_SIZE];
    signed_nonce_id(user, nonce, id);
    signed_mark(id, STR("{\"a\":1}"), mark);
    assert_string_equal(mark, "ebe1d8fb67b1");
    signed_mark(id, STR("{\"a\":2}"), other);
    assert_string_not_equal(mark, other);
    id[0]++;
    signed_mark(id, STR("{\"a\":1}"), other);
    assert_string_not_equal(mark, other);
    signed_mark(id, (struct str){NULL, 0}, other);
    assert_int_equal(strlen(other), SIGNED_MARK_SIZE - 1);
}

/* Cuts "name=value" off the front of *query. */
static struct str take(struct str *query, const char *name)
{
    struct str value = str_cut(query, '&');
    assert_true(str_eq(str_cut(&value, '='), str_of(name)));
    return value;
}

static void a_signed_query_verifies_and_never_repeats_a_nonce(void **state)
{
    enum { QUERY_N = 200 };
    struct account account = {.name = STR("\xc3\xa4&b"), .secret = STR("p w+&")};
    static char nonces[QUERY_N][17];
    for (int i = 0; i < QUERY_N; i++) {
        struct buf b;
        buf_init(&b, 1024);
        signed_put_query(&b, account.name, account.secret);
        assert_false(b.is_over);
        struct str rest = buf_str(&b);
        assert_true(str_eq(take(&rest, "User"), STR("%C3%A4%26b")));
        struct str fresh = take(&rest, "Nonce"), hash = take(&rest, "Hash");
        assert_null(rest.at);
        assert_int_equal(fresh.n, 16);
        for (size_t j = 0; j < fresh.n; j++)
            assert_true(isalnum((unsigned char)fresh.at[j]) || fresh.at[j] == '-' ||
                        fresh.at[j] == '_');
        assert_int_equal(signed_verify(&account, account.name, fresh, hash, false), ERR_OK);
        memcpy(nonces[i], fresh.at, fresh.n);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(nonces[i], nonces[j]);
        buf_fini(&b);
    }
}

static void a_forked_child_draws_other_nonces_than_its_parent(void **state)
{
    char here[256], there[256];
    struct buf b;
    int ends[2];
    buf_init(&b, 256);
    signed_put_query(&b, user, secret); /* the pool is filled before the fork */
    buf_clear(&b);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    signed_put_query(&b, user, secret);
    if (child == 0)
        _exit(write(ends[1], b.at, b.n) == (ssize_t)b.n ? 0 : 1);
    assert_true(child > 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], there, sizeof there), b.n);
    memcpy(here, b.at, b.n);
    assert_memory_not_equal(here, there, b.n);
    close(ends[0]);
    close(ends[1]);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_known_answers_pass_in_either_case),
        cmocka_unit_test(sha1_can_be_switched_off_and_sha256_stays),
        cmocka_unit_test(one_changed_digit_anywhere_is_refused),
        cmocka_unit_test(hashes_of_other_lengths_are_refused),
        cmocka_unit_test(another_nonce_user_or_secret_is_refused),
        cmocka_unit_test(an_unknown_user_is_refused_even_with_the_stand_in_secret),
        cmocka_unit_test(a_nonce_has_1_to_128_bytes),
        cmocka_unit_test(what_is_signed_is_the_plain_sha256),
        cmocka_unit_test(a_nonce_id_differs_by_user_and_nonce),
        cmocka_unit_test(a_mark_is_of_nonce_and_body),
        cmocka_unit_test(a_signed_query_verifies_and_never_repeats_a_nonce),
        cmocka_unit_test(a_forked_child_draws_other_nonces_than_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
