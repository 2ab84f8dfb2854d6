/* SPDX-License-Identifier: MIT
 * test_failures.c - shared/http/failures.h: who shares a slot, and when a slot is refused. */
#include "shared/http/failures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const struct token_key key = {.bytes = "a key for the tests, 32 bytes..."};

static void an_account_and_a_network_share_a_slot_with_few_others(void **state)
{
    unsigned of_one = failures_slot(&key, STR("192.0.2.1"), STR("User_1")), same_n = 0;
    assert_int_equal(of_one, failures_slot(&key, STR("192.0.2.1"), STR("User_1")));
    for (int i = 0; i < 20000; i++) {
        char name[32];
        snprintf(name, sizeof name, "User_%d", i + 2);
        unsigned slot = failures_slot(&key, STR("192.0.2.1"), str_of(name));
        assert_true(slot < FAILURES_SLOTS);
        same_n += slot == of_one;
    }
    assert_true(same_n < 10);
    failures_slot(&key, STR("unix"), (struct str){NULL, 0});
}

static void the_eleventh_failure_of_a_minute_is_refused_until_its_end(void **state)
{
    struct failures *failures = failures_create();
    for (unsigned i = 0; i < FAILURES_MAX; i++)
        assert_int_equal(failures_count(failures, 7, 1000 + i), 0);
    assert_int_equal(failures_count(failures, 7, 31000), 30000);
    assert_int_equal(failures_count(failures, 7, 60999), 1);
    assert_int_equal(failures_count(failures, 8, 60999), 0);
    assert_int_equal(failures_count(failures, 7, 61000), 0);
    failures_destroy(failures);
    failures_destroy(NULL);
}

static void what_redis_says_counts_from_now(void **state)
{
    struct failures *failures = failures_create();
    assert_int_equal(failures_count(failures, 65535, 1000), 0);
    failures_refuse(failures, 65535, 5000, 70000);
    assert_int_equal(failures_count(failures, 65535, 6000), 69000);
    assert_int_equal(failures_count(failures, 65535, 75000), 0);
    failures_destroy(failures);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_account_and_a_network_share_a_slot_with_few_others),
        cmocka_unit_test(the_eleventh_failure_of_a_minute_is_refused_until_its_end),
        cmocka_unit_test(what_redis_says_counts_from_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
