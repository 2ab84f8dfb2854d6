/* SPDX-License-Identifier: MIT
 * test_base_repeats.c - shared/base/repeats.h: equal texts about many items. */
#include "shared/base/repeats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void expect_names(const struct repeat *repeat, size_t from, const char *expected)
{
    struct buf b;
    buf_init(&b, 1024);
    repeat_put_names(&b, repeat, from);
    buf_terminate(&b);
    assert_string_equal(b.n == 0 ? "" : b.at, expected);
    buf_fini(&b);
}

static void equal_texts_are_one_with_the_names_of_the_first_items(void **state)
{
    struct repeats repeats = {.n = 0};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
    assert_int_equal(repeats_add(&repeats, "is empty", names[0]), 1);
    assert_int_equal(repeats_add(&repeats, "is large", "x"), 1);
    expect_names(&repeats.at[0], 1, "");
    for (size_t i = 1; i < sizeof names / sizeof *names; i++)
        assert_int_equal(repeats_add(&repeats, "is empty", names[i]), i + 1);
    assert_int_equal(repeats.n, 2);
    assert_string_equal(repeats.at[0].text, "is empty");
    assert_string_equal(repeats.at[1].text, "is large");
    expect_names(&repeats.at[0], 0, "a, b, c, d, e, ...");
    expect_names(&repeats.at[0], 1, "b, c, d, e, ...");
    expect_names(&repeats.at[1], 0, "x");
    repeats_fini(&repeats);
    repeats_fini(&repeats);
    assert_int_equal(repeats.n, 0);
    (void)state;
}

static void more_texts_than_are_kept_are_counted(void **state)
{
    struct repeats repeats = {.n = 0};
    char text[16];
    for (size_t i = 0; i < REPEATS_MAX + 3; i++) {
        snprintf(text, sizeof text, "%zu", i);
        assert_int_equal(repeats_add(&repeats, text, "x"), i < REPEATS_MAX);
    }
    assert_int_equal(repeats_add(&repeats, "0", "y"), 2);
    assert_int_equal(repeats.n, REPEATS_MAX);
    assert_int_equal(repeats.more_n, 3);
    repeats_fini(&repeats);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_are_one_with_the_names_of_the_first_items),
        cmocka_unit_test(more_texts_than_are_kept_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
