/* SPDX-License-Identifier: MIT
 * test_base_buf.c - shared/base/buf.h: growth, the hard maximum, and every escaping. */
#include "shared/base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MAX = 4096 };

static struct buf b;

static int begin(void **state)
{
    buf_init(&b, MAX);
    return 0;
}

static int end(void **state)
{
    buf_fini(&b);
    return 0;
}

static void assert_holds(const char *expected)
{
    assert_false(b.is_over);
    assert_int_equal(b.n, strlen(expected));
    assert_memory_equal(b.at, expected, b.n);
}

static void a_zeroed_buf_can_be_let_go(void **state)
{
    struct buf zero = {0};
    buf_fini(&zero);
    buf_fini(&zero);
}

static void it_grows_and_keeps_what_it_held(void **state)
{
    for (int i = 0; i < 1000; i++)
        buf_put_char(&b, (char)('a' + i % 26));
    assert_int_equal(b.n, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(b.at[i], 'a' + i % 26);
    buf_put(&b, (struct str){NULL, 0});
    assert_int_equal(b.n, 1000);
    buf_clear(&b);
    assert_int_equal(b.n, 0);
    assert_true(b.cap >= 1000);
}

static void the_maximum_can_be_filled_to_the_last_byte_by_every_writer(void **state)
{
    struct buf small;
    buf_init(&small, 5);
    buf_lit(&small, "12345");
    assert_false(small.is_over);
    buf_clear(&small);
    buf_put_u64(&small, 12345);
    assert_false(small.is_over);
    buf_clear(&small);
    buf_printf(&small, "%d", 12345);
    assert_false(small.is_over);
    assert_int_equal(small.n, 5);
    buf_clear(&small);
    buf_put_json(&small, STR("abc"));
    assert_false(small.is_over);
    buf_fini(&small);
}

static void past_the_maximum_everything_is_dropped_until_it_is_cleared(void **state)
{
    struct buf small;
    buf_init(&small, 5);
    buf_lit(&small, "1234");
    buf_lit(&small, "56");
    assert_true(small.is_over);
    assert_int_equal(small.n, 4);
    buf_put_char(&small, '5'); /* would fit, but what came before it is missing */
    buf_printf(&small, "%d", 5);
    assert_int_equal(small.n, 4);
    assert_null(buf_reserve(&small, 1));
    buf_clear(&small);
    assert_false(small.is_over);
    assert_null(buf_reserve(&small, SIZE_MAX));
    assert_true(small.is_over);
    buf_fini(&small);
}

static void a_reservation_of_nothing_succeeds(void **state)
{
    assert_non_null(buf_reserve(&b, 0));
    assert_false(b.is_over);
}

static void numbers_and_formats(void **state)
{
    buf_put_u64(&b, 0);
    buf_put_char(&b, ' ');
    buf_put_u64(&b, UINT64_MAX);
    buf_printf(&b, " %s %04x", "x", 0xbeef);
    buf_printf(&b, "%s", "");
    assert_holds("0 18446744073709551615 x beef");
}

static void json_strings_hold_no_raw_control_character(void **state)
{
    buf_put_json(&b, STR("a\"b\\c/\n\r\t\x01\x1f\x7f\0z\xe2\x82\xac"));
    assert_holds("\"a\\\"b\\\\c/\\n\\r\\t\\u0001\\u001f\x7f\\u0000z\xe2\x82\xac\"");
    buf_clear(&b);
    buf_put_json(&b, (struct str){NULL, 0});
    assert_holds("\"\"");
}

static void names_are_safe_in_keys_and_come_back(void **state)
{
    static const struct {
        struct str raw;
        const char *name;
    } pairs[] = {
        {STR(""), "%"},
        {STR("%"), "%25"},
        {STR("plain-Name_1.x"), "plain-Name_1.x"},
        {STR("a b"), "a%20b"},
        {STR("{x}:y"), "%7Bx%7D%3Ay"},
        {STR("\n\0"), "%0A%00"},
        {STR("\xc3\xa9"), "%C3%A9"},
        {STR("~"), "%7E"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        buf_clear(&b);
        buf_put_name(&b, pairs[i].raw);
        assert_holds(pairs[i].name);
        buf_clear(&b);
        assert_true(buf_put_unnamed(&b, str_of(pairs[i].name)));
        assert_true(str_eq(buf_str(&b), pairs[i].raw));
    }
}

static void only_what_was_written_as_a_name_is_read_as_one(void **state)
{
    static const char *const wrong[] = {"", "a b", "a/b", "%2", "%zz", "%7e", "%41", "x%", "%%"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        buf_clear(&b);
        assert_false(buf_put_unnamed(&b, str_of(wrong[i])));
    }
}

static void url_decoding(void **state)
{
    assert_true(buf_put_url_decoded(&b, STR("a%20b+c%2B%00"), true));
    assert_int_equal(b.n, 7);
    assert_memory_equal(b.at, "a b c+\0", 7);
    buf_clear(&b);
    assert_true(buf_put_url_decoded(&b, STR("a+b"), false));
    assert_holds("a+b");
    static const char *const wrong[] = {"%", "%2", "a%2", "%g0", "%0g", "% 0", "%-1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        buf_clear(&b);
        assert_false(buf_put_url_decoded(&b, str_of(wrong[i]), true));
    }
}

static void url_encoding_keeps_the_unreserved(void **state)
{
    buf_put_url_encoded(&b, STR("Az09-_.~ +&=#%\xe2"));
    assert_holds("Az09-_.~%20%2B%26%3D%23%25%E2");
}

static void timestamps_are_utc_and_bounded(void **state)
{
    buf_put_timestamp(&b, 1742864523);
    assert_holds("2025-03-25T01:02:03");
    buf_clear(&b);
    buf_put_timestamp(&b, 0);
    assert_holds("1970-01-01T00:00:00");
    buf_clear(&b);
    buf_put_timestamp(&b, UINT64_MAX);
    assert_holds("9999-12-31T23:59:59");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_zeroed_buf_can_be_let_go),
        TEST(it_grows_and_keeps_what_it_held),
        TEST(the_maximum_can_be_filled_to_the_last_byte_by_every_writer),
        TEST(past_the_maximum_everything_is_dropped_until_it_is_cleared),
        TEST(a_reservation_of_nothing_succeeds),
        TEST(numbers_and_formats),
        TEST(json_strings_hold_no_raw_control_character),
        TEST(names_are_safe_in_keys_and_come_back),
        TEST(only_what_was_written_as_a_name_is_read_as_one),
        TEST(url_decoding),
        TEST(url_encoding_keeps_the_unreserved),
        TEST(timestamps_are_utc_and_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
