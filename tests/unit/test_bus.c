/* SPDX-License-Identifier: MIT
 * test_bus.c - bus_read_message of shared/redis/bus.h: events one behind the other. */
#include "shared/redis/bus.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct str events[8];
static unsigned event_n;

static void on_event(void *arg, struct str event)
{
    assert_ptr_equal(arg, events);
    assert_true(event_n < 8);
    events[event_n++] = event;
}

static bool read_message(struct str message)
{
    event_n = 0;
    return bus_read_message(message, on_event, events);
}

static void events_come_in_order(void **state)
{
    assert_true(read_message(STR("5:claim0:3:a\nb")));
    assert_int_equal(event_n, 3);
    assert_true(str_eq(events[0], STR("claim")));
    assert_int_equal(events[1].n, 0);
    assert_true(str_eq(events[2], STR("a\nb")));
}

static void an_event_may_hold_what_looks_like_another(void **state)
{
    assert_true(read_message(STR("7:3:abc\0x1:y")));
    assert_int_equal(event_n, 2);
    assert_true(str_eq(events[0], STR("3:abc\0x")));
    assert_true(str_eq(events[1], STR("y")));
}

static void a_message_may_be_empty(void **state)
{
    assert_true(read_message(STR("")));
    assert_int_equal(event_n, 0);
}

static void a_malformed_message_stops_where_it_breaks(void **state)
{
    static const char *const bad[] = {
        "1:a2:b",
        "1:a9:b",
        "1:ax",
        "1:a:b",
        "1:a-1:b",
        "1:a 1:b",
        "1:a18446744073709551615:b",
        "1:a99999999999999999999:b",
        "1:a1",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(read_message(str_of(bad[i])));
        assert_int_equal(event_n, 1);
        assert_true(str_eq(events[0], STR("a")));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_order),
        cmocka_unit_test(an_event_may_hold_what_looks_like_another),
        cmocka_unit_test(a_message_may_be_empty),
        cmocka_unit_test(a_malformed_message_stops_where_it_breaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
