/* SPDX-License-Identifier: MIT
 * test_base_trace.c - shared/base/trace.h. */
#include "shared/base/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PARENT "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static void an_id_of_a_client_is_visible_and_needs_no_escape(void **state)
{
    char long_id[TRACE_REQUEST_ID_MAX + 1];
    memset(long_id, 'i', sizeof long_id);
    assert_true(trace_is_request_id(STR("n18dd5f2a0761-4")));
    assert_true(trace_is_request_id(STR("a/b:c=d;e")));
    assert_true(trace_is_request_id((struct str){long_id, TRACE_REQUEST_ID_MAX}));
    assert_false(trace_is_request_id((struct str){long_id, TRACE_REQUEST_ID_MAX + 1}));
    assert_false(trace_is_request_id(STR("")));
    assert_false(trace_is_request_id((struct str){NULL, 0}));
    static const char *const bad[] = {"a b", "a\"", "a\\", "<a", "a>", "a&b", "a\n", "\xc3\xa4"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(trace_is_request_id(str_of(bad[i])));
}

static void a_traceparent_has_the_form_of_the_standard(void **state)
{
    assert_true(trace_is_parent(STR(PARENT)));
    assert_true(str_eq(trace_id_of(STR(PARENT)), STR("4bf92f3577b34da6a3ce929d0e0e4736")));
    assert_true(trace_is_parent(STR("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x")));
    static const char *const bad[] = {
        "",
        "00",
        PARENT "-x", /* version 00 has nothing more */
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(trace_is_parent(str_of(bad[i])));
    assert_false(trace_is_parent((struct str){NULL, 0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_of_a_client_is_visible_and_needs_no_escape),
        cmocka_unit_test(a_traceparent_has_the_form_of_the_standard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
