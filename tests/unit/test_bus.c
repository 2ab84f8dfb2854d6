/* SPDX-License-Identifier: MIT
 * test_bus.c - shared/redis/bus.h: events one behind the other in a message, and messages of a
 * redis-server of the test's own. */
#include "shared/redis/bus.h"

#include "shared/base/log.h"
#include "shared/redis/blocking.h"
#include "tests/unit/redis_fixture.h"

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

/* --- with Redis ------------------------------------------------------------------------------- */

static struct loop loop; /* of the whole run: what libh2o keeps of one stays reachable */
static struct bus *bus;
static struct blocking *redis;
static unsigned up_n;
static char last[64];

static void on_bus_event(void *arg, struct str event)
{
    event_n++;
    snprintf(last, sizeof last, "%.*s", STR_ARG(event));
}

static void on_bus_up(void *arg)
{
    up_n++;
}

static void run_once(void)
{
    loop_run_once(&loop, 1000);
}

static void open_bus(bool is_sharded)
{
    event_n = up_n = 0;
    bus = bus_create(&loop, &redis_fixture.address, "parley:{1nb}:", "n1", is_sharded,
                     (struct bus_events){.on_event = on_bus_event, .on_up = on_bus_up});
    assert_false(bus_is_up(bus));
    while (up_n == 0)
        run_once();
    assert_true(bus_is_up(bus));
}

/* How many heard it. */
static unsigned publish(struct str command, struct str channel, struct str message)
{
    struct str words[] = {command, channel, message};
    struct blocking_answer answer;
    uint64_t n;
    assert_int_equal(blocking_command(redis, words, 3, 0, &answer), ERR_OK);
    assert_true(answer.n == 1 && str_parse_u64(answer.at[0], &n));
    return (unsigned)n;
}

static void hear(struct str command, struct str channel, struct str message, const char *event)
{
    unsigned n = event_n;
    assert_int_equal(publish(command, channel, message), 1);
    while (event_n == n)
        run_once();
    assert_int_equal(event_n, n + 1);
    assert_string_equal(last, event);
}

static void a_sharded_bus_hears_sharded_messages_and_others_once(void **state)
{
    open_bus(true);
    hear(STR("SPUBLISH"), STR("parley:{1nb}:node:n1"), STR("5:to n1"), "to n1");
    hear(STR("SPUBLISH"), STR("parley:{1nb}:all"), STR("3:all"), "all");
    hear(STR("PUBLISH"), STR("parley:{1nb}:node:n1"), STR("5:plain"), "plain");
    assert_int_equal(publish(STR("SPUBLISH"), STR("parley:{1nb}:node:n2"), STR("1:x")), 0);
    assert_int_equal(up_n, 1);
    bus_destroy(bus);
}

static void a_bus_of_one_shard_is_what_it_was(void **state)
{
    open_bus(false);
    hear(STR("PUBLISH"), STR("parley:{1nb}:node:n1"), STR("5:plain"), "plain");
    assert_int_equal(publish(STR("SPUBLISH"), STR("parley:{1nb}:node:n1"), STR("1:x")), 0);
    bus_destroy(bus);
}

static void after_a_lost_connection_it_subscribes_and_says_so(void **state)
{
    open_bus(true);
    for (unsigned i = 2; i < 5; i++) {
        redis_fixture_kill();
        while (bus_is_up(bus))
            run_once();
        assert_true(redis_fixture_start());
        while (up_n < i)
            run_once();
        hear(STR("SPUBLISH"), STR("parley:{1nb}:node:n1"), STR("5:again"), "again");
    }
    bus_destroy(bus);
}

static void messages_that_come_at_once_come_in_order(void **state)
{
    open_bus(true);
    for (unsigned i = 0; i < 200; i++) {
        char message[64], event[32];
        int n = snprintf(event, sizeof event, "event %u", i);
        snprintf(message, sizeof message, "%d:%s2:ok", n, event);
        assert_int_equal(publish(i % 3 == 0 ? STR("PUBLISH") : STR("SPUBLISH"),
                                 i % 2 == 0 ? STR("parley:{1nb}:all") : STR("parley:{1nb}:node:n1"),
                                 str_of(message)),
                         1);
    }
    while (event_n < 400)
        run_once();
    assert_int_equal(event_n, 400);
    bus_destroy(bus);
}

static int set_up(void **state)
{
    log_setup(LOG_ERROR, false);
    loop_init(&loop);
    if (!redis_fixture_init())
        return -1;
    redis = blocking_create(&(struct blocking_config){.address = &redis_fixture.address,
                                                      .prefix = "parley:{0}:",
                                                      .name = "test",
                                                      .patience_ms = 20000,
                                                      .is_quiet = true});
    return 0;
}

static int tear_down(void **state)
{
    blocking_destroy(redis);
    loop_fini(&loop);
    redis_fixture_fini();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_order),
        cmocka_unit_test(an_event_may_hold_what_looks_like_another),
        cmocka_unit_test(a_message_may_be_empty),
        cmocka_unit_test(a_malformed_message_stops_where_it_breaks),
        cmocka_unit_test(a_sharded_bus_hears_sharded_messages_and_others_once),
        cmocka_unit_test(a_bus_of_one_shard_is_what_it_was),
        cmocka_unit_test(after_a_lost_connection_it_subscribes_and_says_so),
        cmocka_unit_test(messages_that_come_at_once_come_in_order),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
