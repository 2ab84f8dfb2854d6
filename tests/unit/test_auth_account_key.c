/* SPDX-License-Identifier: MIT
 * Keys of accounts: who has one, what revokes it, and what is none. */
#include "shared/auth/account_key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static struct account account_of(const char *name, const char *secret, unsigned generation)
{
    return (struct account){
        .name = str_of(name), .secret = str_of(secret), .key_generation = generation};
}

static struct str key_of(struct buf *b, const struct account *account)
{
    buf_init(b, ACCOUNT_KEY_MAX_BYTES);
    account_key_put(b, account);
    assert_false(b->is_over);
    return buf_str(b);
}

static void a_key_is_of_one_account_secret_and_generation(void **state)
{
    struct buf b;
    const struct account account = account_of("User_1", "s3cret", 3);
    const struct account others[] = {account_of("User_2", "s3cret", 3),
                                     account_of("User_1", "s3creT", 3),
                                     account_of("User_1", "s3cret", 4)};
    struct str key = key_of(&b, &account);
    assert_ptr_equal(account_key_check(&account, key), &account);
    for (size_t i = 0; i < 3; i++)
        assert_null(account_key_check(&others[i], key));
    assert_null(account_key_check(NULL, key));
    assert_null(memmem(key.at, key.n, "s3cret", 6));
    for (size_t i = 0; i < key.n; i++) {
        b.at[i] ^= 1;
        assert_null(account_key_check(&account, key));
        b.at[i] ^= 1;
        assert_null(account_key_check(&account, (struct str){key.at, i}));
    }
    buf_fini(&b);
}

static void the_longest_name_fits_and_is_read_back(void **state)
{
    struct buf b;
    char name[ACCOUNT_NAME_MAX_BYTES + 1], room[ACCOUNT_NAME_MAX_BYTES];
    struct str read;
    memset(name, '\xc3', sizeof name);
    for (size_t n = 1; n <= ACCOUNT_NAME_MAX_BYTES; n++) {
        name[n] = 0;
        const struct account account = account_of(name, "s", 0);
        struct str key = key_of(&b, &account);
        account_key_name(key, room, &read);
        assert_true(str_eq(read, account.name));
        assert_ptr_equal(account_key_check(&account, key), &account);
        buf_fini(&b);
        name[n] = '\xc3';
    }
}

static void a_former_secret_has_a_key_until_it_ends(void **state)
{
    struct buf b;
    const struct account former = account_of("A", "one", 0);
    struct account now = account_of("A", "two", 0);
    struct str key = key_of(&b, &former);
    assert_null(account_key_check(&now, key));
    now.former = &former;
    assert_ptr_equal(account_key_check(&now, key), &former);
    buf_fini(&b);
}

static void an_account_with_a_hashed_secret_has_no_key(void **state)
{
    struct buf b;
    struct account account = account_of("A", "sha256:known-to-readers-of-the-file", 0);
    struct str key = key_of(&b, &account);
    account.is_hashed = true;
    assert_null(account_key_check(&account, key));
    buf_fini(&b);
}

static void what_is_no_key_names_nobody(void **state)
{
    static const char *const texts[] = {"",
                                        "sk-",
                                        "sk-User_1:secret",
                                        "a.b.c",
                                        "sk-VXNlcl8x",
                                        "sk--0123456789012345678901234567890123456789012",
                                        "sk-!!!!-0123456789012345678901234567890123456789012"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char room[ACCOUNT_NAME_MAX_BYTES];
        struct str read;
        account_key_name(str_of(texts[i]), room, &read);
        assert_int_equal(read.n, 0);
    }
    assert_true(account_key_is(STR("sk-VXNlcl8x")));
    assert_false(account_key_is(STR("sk-User_1:secret")));
    assert_false(account_key_is(STR("a.b.c")));
    assert_false(account_key_is(STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_of_one_account_secret_and_generation),
        cmocka_unit_test(the_longest_name_fits_and_is_read_back),
        cmocka_unit_test(a_former_secret_has_a_key_until_it_ends),
        cmocka_unit_test(an_account_with_a_hashed_secret_has_no_key),
        cmocka_unit_test(what_is_no_key_names_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
