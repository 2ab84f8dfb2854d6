/* SPDX-License-Identifier: MIT
 * test_failures.c - shared/http/access/failures.h: who shares a slot, and when a slot is refused.
 */
#include "shared/http/access/failures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const struct token_key key = {.bytes = "a key for the tests, 32 bytes..."};

static const struct failures_slots seven = {{7, FAILURES_HALF + 7}};

static void an_account_and_a_network_share_both_slots_with_nobody(void **state)
{
    struct failures_slots of_one = failures_slots(&key, STR("192.0.2.1"), STR("User_1"));
    unsigned same_n[2] = {0, 0}, both_n = 0;
    for (int i = 0; i < 20000; i++) {
        char name[32];
        snprintf(name, sizeof name, "User_%d", i + 1);
        struct failures_slots slots = failures_slots(&key, STR("192.0.2.1"), str_of(name));
        bool is_first = slots.of[0] == of_one.of[0], is_second = slots.of[1] == of_one.of[1];
        assert_true(slots.of[0] < FAILURES_HALF);
        assert_true(slots.of[1] >= FAILURES_HALF && slots.of[1] < 2 * FAILURES_HALF);
        same_n[0] += is_first;
        same_n[1] += is_second;
        both_n += is_first && is_second;
    }
    assert_true(same_n[0] < 10 && same_n[1] < 10);
    assert_int_equal(both_n, 1); /* User_1 itself */
    failures_slots(&key, STR("unix"), (struct str){NULL, 0});
}

static void the_eleventh_failure_of_a_minute_is_refused_until_its_end(void **state)
{
    struct failures *failures = failures_create();
    const struct failures_slots eight = {{8, FAILURES_HALF + 7}};
    for (unsigned i = 0; i < FAILURES_MAX; i++)
        assert_int_equal(failures_count(failures, seven, 1000 + i), 0);
    assert_int_equal(failures_count(failures, seven, 31000), 30000);
    assert_int_equal(failures_count(failures, seven, 60999), 1);
    assert_int_equal(failures_count(failures, eight, 60999), 0); /* shares one of two */
    assert_int_equal(failures_count(failures, seven, 61000), 0);
    failures_destroy(failures);
    failures_destroy(NULL);
}

static void what_redis_says_counts_from_now(void **state)
{
    struct failures *failures = failures_create();
    const struct failures_slots last = {{FAILURES_HALF - 1, 2 * FAILURES_HALF - 1}};
    assert_int_equal(failures_count(failures, last, 1000), 0);
    failures_refuse(failures, last, 5000, 70000);
    assert_int_equal(failures_count(failures, last, 6000), 69000);
    assert_int_equal(failures_count(failures, last, 75000), 0);
    failures_destroy(failures);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_account_and_a_network_share_both_slots_with_nobody),
        cmocka_unit_test(the_eleventh_failure_of_a_minute_is_refused_until_its_end),
        cmocka_unit_test(what_redis_says_counts_from_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
