/* SPDX-License-Identifier: MIT
 * test_accept.c - q-values of Accept and Accept-Encoding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "shared/http/request/accept.h"

static void assert_quality(const char *list, const char *name, unsigned expected)
{
    unsigned found = accept_quality(str_of(list), str_of(name));
    if (found != expected)
        fail_msg("%s in \"%s\": %u, not %u", name, list, found, expected);
}

static void ranges_that_cover_a_name(void **state)
{
    (void)state;
    assert_quality("text/html", "text/html", 1000);
    assert_quality("Text/HTML", "text/html", 1000);
    assert_quality("text/*", "text/html", 1000);
    assert_quality("*/*", "text/html", 1000);
    assert_quality("*", "gzip", 1000);
    assert_quality(" a/b ,\ttext/html ", "text/html", 1000);
    assert_quality("text/html;level=1;q=0.3", "text/html", 300);
    assert_quality("text/htm", "text/html", 0);
    assert_quality("text/html2", "text/html", 0);
    assert_quality("te*", "text/html", 0);
    assert_quality("/*", "text/html", 0);
    assert_quality("text/html/*", "text/html", 0);
    assert_quality("gzip/*", "gzip", 0);
    assert_quality("", "text/html", 0);
    assert_quality(",;,=", "text/html", 0);
    assert_int_equal(accept_quality((struct str){NULL, 0}, STR("gzip")), 0);
}

static void a_name_that_only_wider_ranges_cover_is_not_named(void **state)
{
    (void)state;
    assert_true(accept_names(STR("a/b, Text/HTML;q=0.1"), STR("text/html")));
    assert_false(accept_names(STR("*/*, text/*, text/html2"), STR("text/html")));
    assert_false(accept_names((struct str){NULL, 0}, STR("text/html")));
}

static void the_most_specific_range_counts_and_of_equal_ones_the_highest(void **state)
{
    (void)state;
    assert_quality("*/*;q=0.9, text/html;q=0.1", "text/html", 100);
    assert_quality("text/html;q=0.1, */*;q=0.9", "text/html", 100);
    assert_quality("text/*;q=0.2, */*;q=0.9", "text/html", 200);
    assert_quality("text/html;q=0, text/*", "text/html", 0);
    assert_quality("text/html;q=0.2, text/html;q=0.7, text/html;q=0.3", "text/html", 700);
    assert_quality("gzip;q=0, *", "gzip", 0);
    assert_quality("*;q=0, gzip;q=0.001", "gzip", 1);
}

static void a_range_whose_q_is_no_q_value_is_passed_over(void **state)
{
    static const char *const bad[] = {"",    "q",   "2",     "1.1",  "1.001", "0.1234",
                                      "-1",  "+1",  "0,5",   ".5",   "1.x",   "0.5x",
                                      "0x1", "1e0", "\"1\"", "0. 5", "00",    "10"};
    char list[64];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(list, sizeof list, "text/html;q=%s;x=1", bad[i]);
        assert_quality(list, "text/html", 0);
    }
    assert_quality("text/html;q, */*;q=0.5", "text/html", 500);
    assert_quality("a;q=1", "a", 1000);
    assert_quality("a;q=1.", "a", 1000);
    assert_quality("a;q=1.000", "a", 1000);
    assert_quality("a;q=0.", "a", 0);
    assert_quality("a;q=0.05", "a", 50);
    assert_quality("a ; Q = 0.5 ", "a", 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_that_cover_a_name),
        cmocka_unit_test(a_name_that_only_wider_ranges_cover_is_not_named),
        cmocka_unit_test(the_most_specific_range_counts_and_of_equal_ones_the_highest),
        cmocka_unit_test(a_range_whose_q_is_no_q_value_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
