/* SPDX-License-Identifier: MIT
 * test_base_nearest.c - shared/base/nearest.h and usage.h: what is suggested for a misspelt name,
 * and what is not. */
#include "shared/base/nearest.h"
#include "shared/base/usage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const names = "serve|engine|ingest|reindex|show|lease-seconds|max_waiting|url";

static void assert_meant(const char *given, const char *expected)
{
    struct str meant = nearest_of(str_of(given), names);
    assert_true(str_eq(meant, str_of(expected)));
    assert_true((meant.at == NULL) == (expected == NULL));
}

static void one_step_from_a_name_is_that_name(void **state)
{
    assert_meant("sevre", "serve");
    assert_meant("srve", "serve");
    assert_meant("servee", "serve");
    assert_meant("sorve", "serve");
    assert_meant("engin", "engine");
    assert_meant("shwo", "show");
    assert_meant("ulr", "url");
}

static void capitals_dashes_and_underscores_are_no_difference(void **state)
{
    assert_meant("Serve", "serve");
    assert_meant("LEASE_SECONDS", "lease-seconds");
    assert_meant("max-waiting", "max_waiting");
}

static void a_name_that_was_cut_short_or_lengthened_is_close(void **state)
{
    assert_meant("lease", "lease-seconds");
    assert_meant("seconds", "lease-seconds");
    assert_meant("showing", "show");
    assert_meant("url-list", "url");
}

static void what_is_close_to_none_gets_none(void **state)
{
    static const char *const far[] = {"", "x", "ur", "quit", "start", "frobnicate"};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        assert_meant(far[i], NULL);
}

static void names_of_any_length_are_compared_with_none(void **state)
{
    static char text[100000];
    memset(text, 's', sizeof text - 1);
    assert_null(nearest_of(str_of(text), names).at);
    assert_null(nearest_of(STR("serve"), text).at);
    assert_true(str_eq(nearest_in(STR("b"), (const char *const[]){"B", NULL}), STR("B")));
}

static void only_a_plain_word_is_shown_of_a_file(void **state)
{
    assert_true(nearest_is_word(STR("max_wating")));
    assert_false(nearest_is_word(STR("")));
    assert_false(nearest_is_word(STR("s3cret")));
    assert_false(nearest_is_word(STR("redis://:pw@host")));
    assert_false(nearest_is_word(STR("a23456789012345678901234567890123")));
}

static void what_somebody_typed_is_shown_on_one_line_and_cut(void **state)
{
    struct buf b;
    char long_name[200];
    memset(long_name, 'x', sizeof long_name);
    buf_init(&b, 1000);
    buf_put_typed(&b, "--", STR("a\n\033[2Jb"));
    assert_null(memchr(b.at, '\n', b.n));
    assert_null(memchr(b.at, '\033', b.n));
    buf_clear(&b);
    buf_put_typed(&b, "", (struct str){long_name, sizeof long_name});
    assert_int_equal(b.n, NEAREST_NAME_MAX + sizeof "'...'" - 1);
    buf_fini(&b);
}

static void words_are_listed_as_one_says_them(void **state)
{
    struct buf b;
    buf_init(&b, 100);
    buf_put_words(&b, "list|add|remove");
    assert_true(str_eq(buf_str(&b), STR("list, add or remove")));
    buf_clear(&b);
    buf_put_words(&b, "deployed");
    assert_true(str_eq(buf_str(&b), STR("deployed")));
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_step_from_a_name_is_that_name),
        cmocka_unit_test(capitals_dashes_and_underscores_are_no_difference),
        cmocka_unit_test(a_name_that_was_cut_short_or_lengthened_is_close),
        cmocka_unit_test(what_is_close_to_none_gets_none),
        cmocka_unit_test(names_of_any_length_are_compared_with_none),
        cmocka_unit_test(only_a_plain_word_is_shown_of_a_file),
        cmocka_unit_test(what_somebody_typed_is_shown_on_one_line_and_cut),
        cmocka_unit_test(words_are_listed_as_one_says_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
