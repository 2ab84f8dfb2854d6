/* SPDX-License-Identifier: MIT
 * json_scan: members of objects, in one pass. */
#include "shared/base/json.h"
#include "shared/base/json_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { MOST = 4 };

static bool scan(const char *text, struct json_member *members, size_t *n)
{
    const char *reason;
    size_t at;
    bool is_object;
    return json_scan_object(str_of(text), members, MOST, n, &reason, &at, &is_object);
}

static void members_are_the_bytes_that_were_sent(void **state)
{
    struct json_member m[MOST];
    size_t n;
    (void)state;
    assert_true(scan(" { \"a\" : \"x\\n\" , \"b\":[1, {\"c\":null}], \"d\": -1.5e3 } ", m, &n));
    assert_int_equal(n, 3);
    assert_true(str_eq(m[0].value.raw, STR("x\\n")) && m[0].value.has_escape);
    assert_true(str_eq(m[1].value.raw, STR("[1, {\"c\":null}]")));
    assert_int_equal(m[1].value.kind, JSON_SPAN_LIST);
    assert_true(str_eq(m[2].value.raw, STR("-1.5e3")));
}

static void more_members_than_room_are_counted_and_not_written(void **state)
{
    struct json_member m[MOST];
    size_t n;
    (void)state;
    assert_true(scan("{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5}", m, &n));
    assert_int_equal(n, 5);
}

static void what_is_no_object_is_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "[]",
                                      "1",
                                      "{",
                                      "{}x",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{a:1}",
                                      "{\"a\":01}",
                                      "{\"a\":1.}",
                                      "{\"a\":+1}",
                                      "{\"a\":nul}",
                                      "{\"a\":\"",
                                      "{\"a\":\"\n\"}",
                                      "{\"a\":\"\\x\"}",
                                      "{\"a\":\"\\u12\"}",
                                      "{\"a\":\"\\ud800\"}",
                                      "{\"a\":\"\\u0000\"}",
                                      "{\"a\":\"\\udc00\"}",
                                      "{\"a\":\"\xff\"}",
                                      "{\"a\":[1 2]}",
                                      "{\"a\":[1,]}",
                                      "{\"a\" 1}"};
    struct json_member m[MOST];
    size_t n;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (scan(bad[i], m, &n))
            fail_msg("accepted: %s", bad[i]);
}

static void a_number_that_no_tree_can_hold_is_refused_by_the_scanner_too(void **state)
{
    static const struct {
        const char *number;
        bool fits;
    } cases[] = {
        {"1e99999", false},
        {"-1e99999", false},
        {"1.5E+400", false},
        {"1e308", true},
        {"1.8e308", false},
        {"1e-99999", true},
        {"0e99999", true},
        {"0.00001e310", true},
        {"999999999999999999", true},
        {"9223372036854775807", true},
        {"9223372036854775808", false},
        {"-9223372036854775808", true},
        {"-9223372036854775809", false},
        {"18446744073709551616", false},
        {"99999999999999999999999999", false},
        {"99999999999999999999999999.0", true},
        {"99999999999999999999999999e0", true},
    };
    struct json_member m[MOST];
    char text[128], reason[160];
    size_t n;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *tree = NULL;
        snprintf(text, sizeof text, "{\"a\":[{\"b\":%s}]}", cases[i].number);
        if (scan(text, m, &n) != cases[i].fits)
            fail_msg("scanner: %s", cases[i].number);
        if (json_parse(str_of(text), reason, sizeof reason, &tree) != cases[i].fits)
            fail_msg("tree: %s", cases[i].number);
        json_decref(tree);
    }
}

static void a_number_of_many_digits_is_read_like_another(void **state)
{
    static char text[5000];
    struct json_member m[MOST];
    size_t n;
    (void)state;
    memset(text, '1', sizeof text - 1);
    memcpy(text, "{\"a\":0.", 7);
    strcpy(text + sizeof text - 2, "}");
    assert_true(scan(text, m, &n));
    text[5] = '1', text[6] = '1';
    assert_false(scan(text, m, &n));
}

static void nesting_is_bounded(void **state)
{
    char text[20100];
    struct json_member m[MOST];
    size_t n, depth = 10000;
    (void)state;
    strcpy(text, "{\"a\":");
    memset(text + 5, '[', depth);
    memset(text + 5 + depth, ']', depth);
    strcpy(text + 5 + depth * 2, "}");
    assert_false(scan(text, m, &n));
}

static void one_text_has_one_compact_form(void **state)
{
    struct json_member m[MOST];
    size_t n;
    struct buf a, b;
    (void)state;
    buf_init(&a, 1000);
    buf_init(&b, 1000);
    assert_true(scan("{\"a\":\"\\u00e9 \\ud83d\\ude00 \\/ \\u0041\"}", m, &n));
    buf_put_span(&a, &m[0].value);
    assert_true(scan("{\"a\":\"\xc3\xa9 \xf0\x9f\x98\x80 / A\"}", m, &n));
    buf_put_span(&b, &m[0].value);
    assert_true(str_eq(buf_str(&a), buf_str(&b)));
    buf_clear(&a);
    assert_true(scan("{\"a\": {\"x y\" : [ 1 , \" \\u0020 \" , true ] }}", m, &n));
    buf_put_span(&a, &m[0].value);
    assert_true(str_eq(buf_str(&a), STR("{\"x y\":[1,\"   \",true]}")));
    buf_fini(&a);
    buf_fini(&b);
}

static void items_of_a_list_come_one_by_one(void **state)
{
    struct json_member m[MOST];
    struct json_span item;
    size_t n;
    (void)state;
    assert_true(scan("{\"a\":[ \"x\" , [\"y\"], {} ]}", m, &n));
    struct str rest = json_list_inside(&m[0].value);
    assert_true(json_next_item(&rest, &item) && item.kind == JSON_SPAN_TEXT);
    assert_true(json_next_item(&rest, &item) && item.kind == JSON_SPAN_LIST);
    assert_true(json_next_item(&rest, &item) && item.kind == JSON_SPAN_OBJECT);
    assert_false(json_next_item(&rest, &item));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_the_bytes_that_were_sent),
        cmocka_unit_test(more_members_than_room_are_counted_and_not_written),
        cmocka_unit_test(what_is_no_object_is_refused),
        cmocka_unit_test(a_number_that_no_tree_can_hold_is_refused_by_the_scanner_too),
        cmocka_unit_test(a_number_of_many_digits_is_read_like_another),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(one_text_has_one_compact_form),
        cmocka_unit_test(items_of_a_list_come_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
