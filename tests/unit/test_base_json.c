/* SPDX-License-Identifier: MIT
 * test_base_json.c - shared/base/json.h: strict parsing, reasons that repeat nothing of the input,
 * and writing that stays on one line. */
#include "shared/base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX = 1 << 20 };

static bool parses(struct str text)
{
    char reason[200] = "";
    json_t *value = NULL;
    if (!json_parse(text, reason, sizeof reason, &value)) {
        assert_null(value); /* untouched on failure */
        assert_true(strlen(reason) > 0);
        return false;
    }
    assert_non_null(value);
    json_decref(value);
    return true;
}

static void any_json_value_is_a_document(void **state)
{
    static const struct str good[] = {STR("{}"),
                                      STR("[]"),
                                      STR("null"),
                                      STR("\"x\""),
                                      STR("-1.5e3"),
                                      STR(" {} \n"),
                                      STR("{\"a\":[true,false,null]}"),
                                      STR("\"\\u20ac\"")};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(parses(good[i]));
}

static void what_is_not_json_is_refused(void **state)
{
    static const struct str bad[] = {
        STR(""),
        STR(" "),
        STR("{"),
        STR("{} x"),
        STR("{}{}"),
        STR("'a'"),
        STR("{a:1}"),
        STR("[1,]"),
        STR("nul"),
        STR("01"),
        STR("\"\n\""),
        STR("\"\\x\""),
        STR("\"\xff\""),
        STR("\"\xc0\x80\""),
        STR("\"\\u0000\""),
        STR("{\"a\\u0000b\":1}"),
        STR("\"\\ud800\""),
        STR("{}\0"),
        STR("1e999"),
        STR("99999999999999999999999"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(parses(bad[i]));
    assert_false(parses((struct str){NULL, 0}));
}

static void ten_thousand_nested_arrays_are_refused(void **state)
{
    enum { DEPTH = 10000 };
    char *text = malloc(2 * DEPTH);
    memset(text, '[', DEPTH);
    memset(text + DEPTH, ']', DEPTH);
    assert_false(parses((struct str){text, 2 * DEPTH}));
    free(text);
}

static void a_reason_names_the_place_and_repeats_nothing(void **state)
{
    char reason[200];
    json_t *value = NULL;
    assert_false(json_parse(STR("{\n \"a\": s3cret}"), reason, sizeof reason, &value));
    assert_non_null(strstr(reason, "line 2"));
    assert_null(strstr(reason, "s3cret"));
    char tiny[4];
    assert_false(json_parse(STR("{"), tiny, sizeof tiny, &value));
    assert_int_equal(strlen(tiny), 3);
}

static void members_of_another_type_are_absent(void **state)
{
    char reason[200];
    json_t *value;
    assert_true(json_parse(STR("{\"s\":\"text\",\"n\":1,\"z\":null,\"e\":\"\"}"), reason,
                           sizeof reason, &value));
    assert_true(str_eq(json_member_str(value, "s"), STR("text")));
    assert_null(json_member_str(value, "n").at);
    assert_null(json_member_str(value, "z").at);
    assert_null(json_member_str(value, "missing").at);
    assert_non_null(json_member_str(value, "e").at);
    assert_int_equal(json_member_str(value, "e").n, 0);
    assert_null(json_str(value).at);
    assert_null(json_str(NULL).at);
    assert_null(json_member_str(NULL, "s").at);
    json_decref(value);
}

static void what_is_written_is_one_line_and_parses_again(void **state)
{
    static const struct str texts[] = {STR("\"a\\nb\\\"\\\\\\u0001\""),
                                       STR("{\"k\":[1,2.5,\"\\n\",{}]}"), STR("null"),
                                       STR("\"\xe2\x82\xac\"")};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char reason[200];
        json_t *value, *again;
        struct buf b;
        buf_init(&b, MAX);
        assert_true(json_parse(texts[i], reason, sizeof reason, &value));
        buf_put_json_value(&b, value);
        assert_false(b.is_over);
        assert_null(memchr(b.at, '\n', b.n));
        assert_true(json_parse(buf_str(&b), reason, sizeof reason, &again));
        assert_true(json_equal(value, again));
        json_decref(value);
        json_decref(again);
        buf_fini(&b);
    }
}

static void depth_counts_lists_and_objects(void **state)
{
    static const struct {
        const char *text;
        unsigned depth;
    } cases[] = {{"1", 0}, {"{}", 1}, {"[]", 1}, {"{\"a\":[1,{\"b\":2}],\"c\":3}", 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char reason[100];
        json_t *json;
        assert_true(json_parse(str_of(cases[i].text), reason, sizeof reason, &json));
        assert_false(json_is_deeper(json, cases[i].depth));
        assert_true(cases[i].depth == 0 || json_is_deeper(json, cases[i].depth - 1));
        json_decref(json);
    }
    assert_false(json_is_deeper(NULL, 0));
}

/* A few bytes of text may take much memory: by what it allocates, without the allocator's own. */
static void memory_is_that_of_the_values_and_not_of_the_text(void **state)
{
    static const struct {
        const char *item;
        size_t least, most; /* of a hundred */
    } cases[] = {{"1", 2400, 6400},
                 {"{}", 19000, 30000},
                 {"[]", 11000, 20000},
                 {"\"a\"", 6000, 12000},
                 {"{\"a\":1}", 28000, 40000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *list = json_array();
        for (unsigned n = 0; n < 100; n++)
            json_array_append_new(list, json_loads(cases[i].item, JSON_DECODE_ANY, NULL));
        assert_in_range(json_memory(list), cases[i].least, cases[i].most);
        json_decref(list);
    }
    assert_true(json_memory(NULL) < 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_json_value_is_a_document),
        cmocka_unit_test(what_is_not_json_is_refused),
        cmocka_unit_test(ten_thousand_nested_arrays_are_refused),
        cmocka_unit_test(a_reason_names_the_place_and_repeats_nothing),
        cmocka_unit_test(members_of_another_type_are_absent),
        cmocka_unit_test(what_is_written_is_one_line_and_parses_again),
        cmocka_unit_test(depth_counts_lists_and_objects),
        cmocka_unit_test(memory_is_that_of_the_values_and_not_of_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
