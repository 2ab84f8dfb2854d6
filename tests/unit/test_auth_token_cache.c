/* SPDX-License-Identifier: MIT
 * A cache of tokens gives what token_verify gives, even when something has changed since a token
 * was remembered: a character of it, the time, the accounts, the key. */
#include "shared/auth/token_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { NOW = 1742864523, HOUR = 3600 };

static struct token_key key, other_key;
static struct accounts *accounts, *changed, *gone;
static struct token_cache *cache;

static struct accounts *parse(const char *yaml)
{
    char reason[ACCOUNTS_REASON_BYTES];
    struct accounts *ret;
    if (!accounts_parse(str_of(yaml), reason, sizeof reason, &ret))
        fail_msg("%s", reason);
    return ret;
}

static int set_up(void **state)
{
    for (size_t i = 0; i < TOKEN_KEY_BYTES; i++) {
        key.bytes[i] = (unsigned char)i;
        other_key.bytes[i] = (unsigned char)(i + 1);
    }
    accounts = parse("accounts: {User_1: {secret: 'a secret', role: user},"
                     " Operator_1: {secret: 'another', role: operator}}");
    changed = parse("accounts: {User_1: {secret: 'new', role: user}}");
    gone = parse("accounts: {User_2: {secret: 'a secret', role: user}}");
    cache = token_cache_create();
    return 0;
}

static int tear_down(void **state)
{
    token_cache_destroy(cache);
    accounts_destroy(accounts);
    accounts_destroy(changed);
    accounts_destroy(gone);
    return 0;
}

static void issue(struct buf *b, const char *name, uint64_t now_s)
{
    buf_init(b, TOKEN_MAX_BYTES);
    token_issue(b, &key, accounts_find(accounts, str_of(name)), now_s, now_s, HOUR);
}

static enum err verify_with(const struct token_key *k, const struct accounts *a, struct str token,
                            uint64_t now_s, const char *name)
{
    const struct account *account = NULL;
    uint64_t expires_s = 0;
    enum err error = token_cache_verify(cache, k, a, token, now_s, &account, &expires_s);
    if (error == ERR_OK) {
        assert_ptr_equal(account, accounts_find(a, str_of(name)));
        assert_int_equal(expires_s, NOW + HOUR);
    } else {
        assert_null(account);
        assert_int_equal(expires_s, 0);
    }
    return error;
}

static enum err verify(struct str token, uint64_t now_s)
{
    return verify_with(&key, accounts, token, now_s, "User_1");
}

static void a_remembered_token_is_found_by_its_full_text(void **state)
{
    struct buf b;
    issue(&b, "User_1", NOW);
    for (int i = 0; i < 3; i++)
        assert_int_equal(verify(buf_str(&b), NOW), ERR_OK);
    for (size_t i = 0; i < b.n; i++) {
        char was = b.at[i];
        b.at[i] = was == 'A' ? 'B' : 'A';
        assert_int_equal(verify(buf_str(&b), NOW), ERR_UNAUTHORIZED);
        b.at[i] = was;
        assert_int_equal(verify(buf_str(&b), NOW), ERR_OK);
    }
    for (size_t n = 0; n < b.n; n++)
        assert_int_equal(verify((struct str){b.at, n}, NOW), ERR_UNAUTHORIZED);
    assert_int_equal(verify((struct str){b.at + 1, b.n - 1}, NOW), ERR_UNAUTHORIZED);
    buf_fini(&b);
}

static void it_ends_with_its_time(void **state)
{
    struct buf b;
    issue(&b, "User_1", NOW);
    assert_int_equal(verify(buf_str(&b), NOW), ERR_OK);
    assert_int_equal(verify(buf_str(&b), NOW + HOUR + TOKEN_SKEW_S - 1), ERR_OK);
    assert_int_equal(verify(buf_str(&b), NOW + HOUR + TOKEN_SKEW_S), ERR_TOKEN_EXPIRED);
    buf_fini(&b);
}

static void it_ends_with_its_account_and_its_secret(void **state)
{
    struct buf b;
    issue(&b, "User_1", NOW);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(verify(buf_str(&b), NOW), ERR_OK);
        assert_int_equal(verify_with(&key, changed, buf_str(&b), NOW, "User_1"), ERR_REVOKED);
        assert_int_equal(verify_with(&key, gone, buf_str(&b), NOW, "User_1"), ERR_REVOKED);
    }
    buf_fini(&b);
}

static void it_ends_with_the_key(void **state)
{
    struct buf b;
    issue(&b, "User_1", NOW);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(verify(buf_str(&b), NOW), ERR_OK);
        assert_int_equal(verify_with(&other_key, accounts, buf_str(&b), NOW, "User_1"),
                         ERR_UNAUTHORIZED);
    }
    buf_fini(&b);
}

/* More than there is room for, so that each place has had several. */
static void every_token_is_its_own_accounts(void **state)
{
    enum { N = 2 * TOKEN_CACHE_N };
    static struct buf tokens[N];
    for (unsigned i = 0; i < N; i++)
        issue(&tokens[i], i % 2 ? "Operator_1" : "User_1", NOW - i);
    for (int round = 0; round < 2; round++)
        for (unsigned i = 0; i < N; i++) {
            const struct account *account;
            uint64_t expires_s;
            assert_int_equal(token_cache_verify(cache, &key, accounts, buf_str(&tokens[i]), NOW,
                                                &account, &expires_s),
                             ERR_OK);
            assert_int_equal(account->role, i % 2 ? ROLE_OPERATOR : ROLE_USER);
            assert_int_equal(expires_s, NOW - i + HOUR);
        }
    for (unsigned i = 0; i < N; i++)
        buf_fini(&tokens[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_remembered_token_is_found_by_its_full_text, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(it_ends_with_its_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_ends_with_its_account_and_its_secret, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_ends_with_the_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_token_is_its_own_accounts, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
