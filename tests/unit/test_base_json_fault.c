/* SPDX-License-Identifier: MIT
 * test_base_json_fault.c - shared/base/json_fault.h: what is said of a member that is refused. */
#include "shared/base/json_fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MEMBERS_MAX = 16 };

struct object {
    struct json_member members[MEMBERS_MAX];
    size_t n;
};

static void scan(const char *text, struct object *object)
{
    const char *reason;
    size_t at;
    bool is_object;
    assert_true(json_scan_object(str_of(text), object->members, MEMBERS_MAX, &object->n, &reason,
                                 &at, &is_object));
    assert_true(object->n <= MEMBERS_MAX);
}

static void expect(const char *text, const char *expected)
{
    struct object object;
    struct buf b;
    scan(text, &object);
    buf_init(&b, 1024);
    json_put_fault(&b, object.members, object.n, "topK", "a number");
    buf_terminate(&b);
    assert_string_equal(b.at, expected);
    buf_fini(&b);
}

static void a_missing_member_is_told_from_null_and_from_a_wrong_one(void **state)
{
    (void)state;
    expect("{}", "topK is missing: it must be a number.");
    expect("{\"topK\":null}", "topK is null: it must be a number.");
    expect("{\"topK\":true}", "topK must be a number, not true.");
    expect("{\"topK\":7}", "topK must be a number, not 7.");
    expect("{\"topK\":\"7\"}", "topK must be a number, not the string '7'.");
    expect("{\"topK\":\"\\u003cb\\u003e\"}", "topK must be a number, not the string '\xe2\x80\xb9"
                                             "b\xe2\x80\xba'.");
    expect("{\"topK\":\"\"}", "topK must be a number, not an empty string.");
    expect("{\"topK\":{}}", "topK must be a number, not an object.");
    expect("{\"topK\":[]}", "topK must be a number, not an empty list.");
    expect("{\"topK\":[\"a\"]}", "topK must be a number, not a list of 1 item.");
    expect("{\"topK\":[\"a\",[1],2]}",
           "topK must be a number, not a list of 3 items, one of which is a list.");
    expect("{\"topK\":1111111111111111.111111111111}",
           "topK must be a number, not a number of many digits.");
}

static void the_last_member_of_a_name_counts(void **state)
{
    (void)state;
    expect("{\"topK\":1,\"topK\":2}", "topK must be a number, not 2.");
}

static void another_spelling_is_named_unless_the_right_one_is_there(void **state)
{
    (void)state;
    static const char *const others[] = {"TopK", "top_k", "top-k", "TOPK"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[64], expected[128];
        snprintf(text, sizeof text, "{\"%s\":7}", others[i]);
        snprintf(expected, sizeof expected,
                 "topK is missing, but there is '%s': a name must be spelt exactly. topK must be a "
                 "number.",
                 others[i]);
        expect(text, expected);
    }
    expect("{\"top_k\":7,\"topK\":true}", "topK must be a number, not true.");
    expect("{\"topKs\":7}", "topK is missing: it must be a number.");
    expect("{\"\":7}", "topK is missing: it must be a number.");
}

static void unknown_members_are_named_up_to_five(void **state)
{
    (void)state;
    static const char *const known[] = {"a", "b", NULL};
    struct object object;
    struct buf b;
    buf_init(&b, 1024);
    scan("{\"a\":1,\"b\":2}", &object);
    assert_int_equal(json_put_unknown(&b, object.members, object.n, known), 0);
    assert_int_equal(b.n, 0);
    scan("{\"a\":1,\"c\":2,\"d\":3,\"e\":4,\"f\":5,\"g\":6,\"h\":7}", &object);
    assert_int_equal(json_put_unknown(&b, object.members, object.n, known), 6);
    buf_terminate(&b);
    assert_string_equal(b.at, "'c', 'd', 'e', 'f', 'g' and 1 more");
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_member_is_told_from_null_and_from_a_wrong_one),
        cmocka_unit_test(the_last_member_of_a_name_counts),
        cmocka_unit_test(another_spelling_is_named_unless_the_right_one_is_there),
        cmocka_unit_test(unknown_members_are_named_up_to_five),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
