/* SPDX-License-Identifier: MIT
 * test_base_str.c - shared/base/str.h, and hash.h: what it accepts, and what it must not. */
#include "shared/base/hash.h"

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void assert_str(struct str s, const char *expected)
{
    assert_int_equal(s.n, strlen(expected));
    assert_memory_equal(s.at, expected, s.n);
}

static void nothing_is_a_string_too(void **state)
{
    struct str none = str_of(NULL);
    assert_int_equal(none.n, 0);
    assert_true(str_eq(none, STR("")));
    assert_true(str_eq_nocase(none, STR("")));
    assert_true(str_eq_secret(none, STR("")));
    assert_true(str_has_prefix(none, none));
    assert_true(str_is_utf8(none));
    assert_int_equal(str_trim(none).n, 0);
    assert_false(str_has_prefix(none, STR("a")));
    assert_true(str_holds(none, none));
    assert_false(str_holds(none, STR("a")));
}

static void equality_looks_at_every_byte(void **state)
{
    assert_true(str_eq(STR("a\0b"), STR("a\0b")));
    assert_false(str_eq(STR("a\0b"), STR("a\0c")));
    assert_false(str_eq(STR("a"), STR("ab")));
    assert_false(str_eq(STR("Host"), STR("host")));
    assert_true(str_eq_nocase(STR("Host"), STR("hOST")));
    assert_false(str_eq_nocase(STR("Host"), STR("hosts")));
    assert_true(str_eq_secret(STR("s3cret"), STR("s3cret")));
    assert_false(str_eq_secret(STR("s3cret"), STR("s3creT")));
    assert_false(str_eq_secret(STR("s3cret"), STR("s3cre")));
}

static void prefixes(void **state)
{
    assert_true(str_has_prefix(STR("/api/login"), STR("/api/")));
    assert_true(str_has_prefix(STR("x"), STR("")));
    assert_true(str_holds(STR("/api/login"), STR("login")));
    assert_true(str_holds(STR("ab"), STR("ab")));
    assert_false(str_holds(STR("ab"), STR("abc")));
    assert_false(str_holds(STR("abab"), STR("ac")));
    assert_true(str_holds(STR("x"), STR("")));
    assert_false(str_has_prefix(STR("/api"), STR("/api/")));
}

static void trim_takes_white_space_off_both_ends_only(void **state)
{
    assert_str(str_trim(STR(" \t\r\n a b \r\n")), "a b");
    assert_str(str_trim(STR("ab")), "ab");
    assert_int_equal(str_trim(STR(" \n ")).n, 0);
}

static void cut_walks_a_list_and_says_when_it_ends(void **state)
{
    struct str rest = STR("a,,b");
    assert_str(str_cut(&rest, ','), "a");
    assert_str(str_cut(&rest, ','), "");
    assert_non_null(rest.at);
    assert_str(str_cut(&rest, ','), "b");
    assert_null(rest.at);
    struct str after = str_cut(&rest, ',');
    assert_null(after.at);
    assert_int_equal(after.n, 0);
}

static void cut_keeps_the_empty_part_after_a_last_separator(void **state)
{
    struct str rest = STR("a,");
    assert_str(str_cut(&rest, ','), "a");
    assert_non_null(rest.at);
    assert_int_equal(rest.n, 0);
    assert_int_equal(str_cut(&rest, ',').n, 0);
    assert_null(rest.at);
}

static void a_name_is_listed_as_a_whole_item_only(void **state)
{
    assert_true(str_is_listed(STR("a,bc"), STR("a")));
    assert_true(str_is_listed(STR(" a ,\tbc "), STR("bc")));
    assert_false(str_is_listed(STR("a,bc"), STR("b")));
    assert_false(str_is_listed(STR("abc"), STR("ab")));
    assert_false(str_is_listed(STR("a,bc"), STR("a,bc")));
    assert_false(str_is_listed((struct str){NULL, 0}, STR("")));
}

/* From http://www.isthe.com/chongo/tech/comp/fnv/: what is stored (text_hash) must not change. */
static void hashes_are_those_of_their_authors(void **state)
{
    assert_int_equal(hash_fnv32(STR(""), 0), 0x811c9dc5u);
    assert_int_equal(hash_fnv32(STR("a"), 0), 0xe40c292cu);
    assert_int_equal(hash_fnv32(STR("foobar"), 0), 0xbf9cf968u);
    assert_true(hash_fnv64(STR("a"), 0) == 0xaf63dc4c8601ec8cu);
    assert_true(hash_fnv64(STR("foobar"), 0) == 0x85944171f73967e8u);
    assert_true(hash_fnv32(STR("a"), 1) != hash_fnv32(STR("a"), 0));
}

static void numbers_fill_the_whole_string_or_are_none(void **state)
{
    uint64_t n = 7;
    assert_true(str_parse_u64(STR("0"), &n));
    assert_int_equal(n, 0);
    assert_true(str_parse_u64(STR("18446744073709551615"), &n));
    assert_true(n == UINT64_MAX);
    n = 7;
    static const struct str wrong[] = {STR(""),
                                       STR("-1"),
                                       STR("+1"),
                                       STR(" 1"),
                                       STR("1 "),
                                       STR("1.0"),
                                       STR("0x10"),
                                       STR("18446744073709551616"),
                                       STR("1a"),
                                       STR("1\0"),
                                       STR("99999999999999999999"),
                                       STR("000000000000000000001")};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(str_parse_u64(wrong[i], &n));
    assert_int_equal(n, 7); /* untouched on failure */
}

static void fractions_are_finite_and_fill_the_string(void **state)
{
    double d = 7;
    assert_true(str_parse_double(STR("0.75"), &d));
    assert_true(d > 0.7499 && d < 0.7501);
    assert_true(str_parse_double(STR("-1e3"), &d));
    assert_true(d < -999.9 && d > -1000.1);
    d = 7;
    static const struct str wrong[] = {STR(""),    STR("nan"), STR("inf"), STR("1e999"),
                                       STR(" 1"),  STR("\v1"), STR("\f1"), STR("1 "),
                                       STR("1\0"), STR("1,5")};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(str_parse_double(wrong[i], &d));
    char long_number[80];
    memset(long_number, '1', sizeof long_number);
    assert_false(str_parse_double((struct str){long_number, sizeof long_number}, &d));
    assert_true(d > 6.9 && d < 7.1);
}

static void utf8_is_what_unicode_says_it_is(void **state)
{
    static const struct str good[] = {
        STR("plain"),
        STR("a\0b"),
        STR("\xc3\xa9"),
        STR("\xe2\x82\xac"),
        STR("\xf0\x9f\x98\x80"),
        STR("\xed\x9f\xbf"),
        STR("\xee\x80\x80"),
        STR("\xf4\x8f\xbf\xbf"),
        STR("\xc2\x80"),
        STR("\xe0\xa0\x80"),
        STR("\xf0\x90\x80\x80"),
    };
    static const struct str bad[] = {
        STR("\x80"),
        STR("\xc3"),
        STR("\xc0\x80"),
        STR("\xc1\xbf"),
        STR("\xe0\x9f\xbf"),
        STR("\xed\xa0\x80"),
        STR("\xed\xbf\xbf"),
        STR("\xf0\x8f\xbf\xbf"),
        STR("\xf4\x90\x80\x80"),
        STR("\xf5\x80\x80\x80"),
        STR("\xff"),
        STR("\xe2\x82"),
        STR("\xf0\x9f\x98"),
        STR("\xe2\x28\xa1"),
        STR("ok\xfe"),
        STR("\xc3\x28"),
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(str_is_utf8(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(str_is_utf8(bad[i]));
}

static void hex_goes_there_and_back(void **state)
{
    unsigned char bytes[256], back[256];
    char hex[513];
    for (int i = 0; i < 256; i++)
        bytes[i] = (unsigned char)i;
    str_hex(bytes, sizeof bytes, hex);
    assert_int_equal(strlen(hex), 512);
    assert_memory_equal(hex, "000102", 6);
    assert_memory_equal(hex + 506, "fdfeff", 6);
    assert_true(str_unhex(str_of(hex), back));
    assert_memory_equal(bytes, back, sizeof bytes);
    assert_true(str_unhex(STR("aAfF"), back));
    assert_int_equal(back[0], 0xaa);
    assert_int_equal(back[1], 0xff);
    assert_false(str_unhex(STR("abc"), back));
    assert_false(str_unhex(STR("0g"), back));
    assert_true(str_unhex(STR(""), back));
}

static void random_hex_is_new_each_time_and_as_long_as_asked(void **state)
{
    char a[2 * STR_RANDOM_MAX_BYTES + 1], b[2 * STR_RANDOM_MAX_BYTES + 1];
    str_random_hex(STR_RANDOM_MAX_BYTES, a);
    str_random_hex(STR_RANDOM_MAX_BYTES, b);
    assert_int_equal(strlen(a), 2 * STR_RANDOM_MAX_BYTES);
    assert_int_equal(strspn(a, "0123456789abcdef"), 2 * STR_RANDOM_MAX_BYTES);
    assert_string_not_equal(a, b);
    str_random_hex(4, a);
    assert_int_equal(strlen(a), 8);
}

static void a_uuid_is_random_and_known(void **state)
{
    char a[STR_UUID_BYTES + 1], b[STR_UUID_BYTES + 1];
    for (int i = 0; i < 100; i++) {
        str_random_uuid(a);
        str_random_uuid(b);
        assert_string_not_equal(a, b);
        assert_int_equal(strlen(a), STR_UUID_BYTES);
        assert_true(str_is_uuid(str_of(a)));
        assert_int_equal(a[14], '4');
        assert_non_null(strchr("89ab", a[19]));
    }
    assert_true(str_is_uuid(STR("01234567-89ab-4cde-8f01-23456789abcd")));
    assert_false(str_is_uuid(STR("01234567-89ab-4cde-8f01-23456789abc")));
    assert_false(str_is_uuid(STR("01234567-89AB-4cde-8f01-23456789abcd")));
    assert_false(str_is_uuid(STR("01234567-89ab-4cde-8f01-23456789abcg")));
    assert_false(str_is_uuid(STR("01234567089ab-4cde-8f01-23456789abcd")));
    assert_false(str_is_uuid(STR("")));
}

static void one_is_counted_in_the_singular(void **state)
{
    char text[64];
    for (unsigned n = 0; n < 3; n++) {
        snprintf(text, sizeof text, "%llu %s, %llu %s", COUNTED(n, "passage"),
                 COUNTED_AS(n, "query", "queries"));
        assert_string_equal(text, n == 0   ? "0 passages, 0 queries"
                                  : n == 1 ? "1 passage, 1 query"
                                           : "2 passages, 2 queries");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_a_string_too),
        cmocka_unit_test(equality_looks_at_every_byte),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(trim_takes_white_space_off_both_ends_only),
        cmocka_unit_test(cut_walks_a_list_and_says_when_it_ends),
        cmocka_unit_test(cut_keeps_the_empty_part_after_a_last_separator),
        cmocka_unit_test(a_name_is_listed_as_a_whole_item_only),
        cmocka_unit_test(hashes_are_those_of_their_authors),
        cmocka_unit_test(numbers_fill_the_whole_string_or_are_none),
        cmocka_unit_test(fractions_are_finite_and_fill_the_string),
        cmocka_unit_test(utf8_is_what_unicode_says_it_is),
        cmocka_unit_test(hex_goes_there_and_back),
        cmocka_unit_test(random_hex_is_new_each_time_and_as_long_as_asked),
        cmocka_unit_test(a_uuid_is_random_and_known),
        cmocka_unit_test(one_is_counted_in_the_singular),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
