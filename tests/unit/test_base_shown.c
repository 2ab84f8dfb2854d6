/* SPDX-License-Identifier: MIT
 * test_base_shown.c - shared/base/shown.h: which letters of a name are left. */
#include "shared/base/shown.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void expect(struct str name, const char *expected)
{
    struct buf b;
    buf_init(&b, 1024);
    buf_put_shown(&b, name);
    buf_terminate(&b);
    assert_string_equal(b.n == 0 ? "" : b.at, expected);
    buf_fini(&b);
}

static void letters_of_all_scripts_stay(void **state)
{
    static const char *const names[] = {
        "a b.txt",
        "\xc3\x9c\xce\xb2\xd0\x96",                          /* Latin, Greek, Cyrillic */
        "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xd8\xb3\xd9\x84", /* Hebrew, Arabic */
        "\xe6\x97\xa5\xe6\x9c\xac \xe2\x80\xa6 \xe2\x82\xac",
        "\xf0\x9f\x98\x80",
        "\xc2\xa0\xef\xbf\xbd\xf4\x8f\xbf\xbf",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect(str_of(names[i]), names[i]);
    expect(STR(""), "");
}

static void letters_that_nobody_sees_are_left_out(void **state)
{
    static const char *const unseen[] = {"\x01",         "\n",           "\x1b",
                                         "\x7f",         "\xc2\x80",     "\xc2\x9f",
                                         "\xc2\xad",     "\xd8\x9c",     "\xe1\xa0\x8e",
                                         "\xe2\x80\x8b", "\xe2\x80\x8f", "\xe2\x80\xa8",
                                         "\xe2\x80\xa9", "\xe2\x80\xaa", "\xe2\x80\xae",
                                         "\xe2\x81\xa0", "\xe2\x81\xa6", "\xe2\x81\xa9",
                                         "\xef\xbb\xbf", "\xef\xbf\xb9", "\xf3\xa0\x80\x81"};
    for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++) {
        struct buf name;
        buf_init(&name, 64);
        buf_lit(&name, "a");
        buf_put(&name, str_of(unseen[i]));
        buf_lit(&name, "b");
        expect(buf_str(&name), "ab");
        buf_fini(&name);
    }
    expect(STR("a\0b"), "ab");
}

static void bytes_that_are_no_text_are_shown_as_such(void **state)
{
    expect(STR("a\xff\xc3"), "a\xef\xbf\xbd\xef\xbf\xbd");
    expect(STR("\xe2\x80"), "\xef\xbf\xbd\xef\xbf\xbd");
    expect(STR("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* half of a pair */
}

static void a_text_keeps_its_lines_and_joiners_and_nothing_that_moves_a_cursor(void **state)
{
    struct buf b;
    buf_init(&b, 1024);
    buf_put_shown_text(&b, STR("a\tb\r\n\x1b[2Jc\xe2\x80\x8d\xe2\x80\xae\xc2\x85\x07\x7f."));
    buf_terminate(&b);
    assert_string_equal(b.at, "a\tb\n[2Jc\xe2\x80\x8d.");
    buf_fini(&b);
}

static void expect_quoted(struct str name, const char *expected)
{
    struct buf b;
    buf_init(&b, 1024);
    buf_put_quoted(&b, name);
    buf_terminate(&b);
    assert_string_equal(b.at, expected);
    buf_fini(&b);
}

static void what_is_repeated_is_short_and_no_HTML(void **state)
{
    (void)state;
    char longest[QUOTED_MAX_BYTES + 2], expected[QUOTED_MAX_BYTES + 8];
    memset(longest, 'x', sizeof longest);
    expect_quoted(STR(""), "''");
    expect_quoted(STR("a b"), "'a b'");
    expect_quoted(STR("<b>&'"), "'\xe2\x80\xb9"
                                "b\xe2\x80\xba&''");
    expect_quoted(STR("a\n\xe2\x80\xae"
                      "b\xff"),
                  "'ab\xef\xbf\xbd'");
    snprintf(expected, sizeof expected, "'%.*s'", QUOTED_MAX_BYTES, longest);
    expect_quoted((struct str){longest, QUOTED_MAX_BYTES}, expected);
    snprintf(expected, sizeof expected, "'%.*s...'", QUOTED_MAX_BYTES, longest);
    expect_quoted((struct str){longest, QUOTED_MAX_BYTES + 1}, expected);
    memcpy(longest + QUOTED_MAX_BYTES - 1, "\xc3\xa4", 2); /* not cut in its middle */
    snprintf(expected, sizeof expected, "'%.*s...'", QUOTED_MAX_BYTES - 1, longest);
    expect_quoted((struct str){longest, QUOTED_MAX_BYTES + 1}, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_of_all_scripts_stay),
        cmocka_unit_test(letters_that_nobody_sees_are_left_out),
        cmocka_unit_test(bytes_that_are_no_text_are_shown_as_such),
        cmocka_unit_test(a_text_keeps_its_lines_and_joiners_and_nothing_that_moves_a_cursor),
        cmocka_unit_test(what_is_repeated_is_short_and_no_HTML),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
