/* SPDX-License-Identifier: MIT
 * test_topology_read.c - shared/redis/topology_read.c: what members of a Redis Cluster and
 * Sentinels reply, in Redis's protocol, and what of it is refused. */
#include "shared/redis/topology_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <hiredis/hiredis.h>

static const struct topology_place from = {.host = "10.0.0.9", .port = 7000};
static struct topology_map map;

static redisReply *reply_of(const char *wire)
{
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;
    assert_int_equal(redisReaderFeed(reader, wire, strlen(wire)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    redisReaderFree(reader);
    return reply;
}

static bool read_slots(const char *wire)
{
    redisReply *reply = reply_of(wire);
    topology_map_fini(&map);
    bool is_read = topology_read_slots(reply, &from, &map);
    freeReplyObject(reply);
    return is_read;
}

#define MEMBER(host) "*3\r\n" host ":7001\r\n$2\r\nid\r\n"

static void slots_have_owners(void **state)
{
    assert_true(read_slots("*2\r\n"
                           "*4\r\n:0\r\n:99\r\n" MEMBER("$8\r\n10.0.0.1\r\n") MEMBER(
                               "$1\r\nx\r\n") "*3\r\n:101\r\n:16383\r\n" MEMBER("$3\r\n::1\r\n")));
    assert_int_equal(map.place_n, 2);
    assert_string_equal(map.places[map.owner[0] - 1].host, "10.0.0.1");
    assert_int_equal(map.places[map.owner[99] - 1].port, 7001);
    assert_int_equal(map.owner[100], 0);
    assert_string_equal(map.places[map.owner[16383] - 1].host, "::1");
}

static void a_member_without_a_host_is_at_that_of_who_replied(void **state)
{
    static const char *const hosts[] = {"*1\r\n*3\r\n:0\r\n:1\r\n" MEMBER("$-1\r\n"),
                                        "*1\r\n*3\r\n:0\r\n:1\r\n" MEMBER("$0\r\n\r\n"),
                                        "*1\r\n*3\r\n:0\r\n:1\r\n" MEMBER("$1\r\n?\r\n")};
    for (size_t i = 0; i < 3; i++) {
        assert_true(read_slots(hosts[i]));
        assert_string_equal(map.places[0].host, "10.0.0.9");
        assert_int_equal(map.places[0].port, 7001);
    }
}

static void what_is_no_list_of_slots_is_refused(void **state)
{
    static const char *const bad[] = {
        "*0\r\n",
        ":1\r\n",
        "-ERR This instance has cluster support disabled\r\n",
        "*1\r\n:1\r\n",
        "*1\r\n*2\r\n:0\r\n:1\r\n",
        "*1\r\n*3\r\n:0\r\n:16384\r\n" MEMBER("$1\r\nx\r\n"),
        "*1\r\n*3\r\n:-1\r\n:1\r\n" MEMBER("$1\r\nx\r\n"),
        "*1\r\n*3\r\n:2\r\n:1\r\n" MEMBER("$1\r\nx\r\n"),
        "*1\r\n*3\r\n:0\r\n:1\r\n" MEMBER("$3\r\na b\r\n"),
        "*1\r\n*3\r\n:0\r\n:1\r\n" MEMBER(":1\r\n"),
        "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\nx\r\n:65536\r\n",
        "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\nx\r\n:0\r\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (read_slots(bad[i]))
            fail_msg("%s was read", bad[i]);
}

static void a_master_of_sentinel_has_a_host_and_a_port(void **state)
{
    struct topology_place place;
    redisReply *reply = reply_of("*2\r\n$8\r\n10.0.0.1\r\n$4\r\n6380\r\n");
    assert_true(topology_read_master(reply, &place));
    assert_string_equal(place.host, "10.0.0.1");
    assert_int_equal(place.port, 6380);
    freeReplyObject(reply);
    static const char *const bad[] = {"*-1\r\n", "*2\r\n$0\r\n\r\n$1\r\n1\r\n",
                                      "*2\r\n$1\r\nx\r\n$5\r\n65536\r\n", "*1\r\n$1\r\nx\r\n",
                                      "-ERR x\r\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        reply = reply_of(bad[i]);
        assert_false(topology_read_master(reply, &place));
        freeReplyObject(reply);
    }
}

static void the_newest_configuration_has_the_highest_epoch(void **state)
{
    redisReply *reply =
        reply_of("*4\r\n$4\r\nname\r\n$1\r\nm\r\n$12\r\nconfig-epoch\r\n$2\r\n17\r\n");
    assert_int_equal(topology_read_epoch(reply), 17);
    freeReplyObject(reply);
    reply = reply_of("*3\r\n$4\r\nname\r\n$1\r\nm\r\n$12\r\nconfig-epoch\r\n");
    assert_int_equal(topology_read_epoch(reply), 0);
    freeReplyObject(reply);
}

static void moved_names_a_slot_and_a_place(void **state)
{
    struct topology_place to;
    unsigned slot;
    assert_true(topology_read_moved("MOVED 866 127.0.0.1:7002", &from, &slot, &to));
    assert_int_equal(slot, 866);
    assert_string_equal(to.host, "127.0.0.1");
    assert_int_equal(to.port, 7002);
    assert_true(topology_read_moved("MOVED 1 :7003", &from, &slot, &to));
    assert_string_equal(to.host, "10.0.0.9");
    assert_true(topology_read_moved("MOVED 1 ?:7003", &from, &slot, &to));
    assert_string_equal(to.host, "10.0.0.9");
    assert_true(topology_read_moved("MOVED 1 ::1:7003", &from, &slot, &to));
    assert_string_equal(to.host, "::1");
    static const char *const bad[] = {
        "",          "MOVED",       "MOVED 1",         "MOVED 16384 a:1", "MOVED x a:1",
        "MOVED 1 a", "MOVED 1 a:0", "MOVED 1 a:65536", "ASK 1 a:1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (topology_read_moved(bad[i], &from, &slot, &to))
            fail_msg("%s was read", bad[i]);
}

/* More masters than any cluster has. */
static void too_many_places_are_refused(void **state)
{
    topology_map_fini(&map);
    for (unsigned i = 0; i < TOPOLOGY_PLACES_MAX; i++) {
        struct topology_place place = {.host = "x", .port = (int)i + 1};
        assert_int_equal(topology_map_add(&map, &place), i);
    }
    assert_int_equal(topology_map_add(&map, &from), TOPOLOGY_PLACES_MAX);
    struct topology_place known = {.host = "x", .port = 1};
    assert_int_equal(topology_map_add(&map, &known), 0);
}

static int forget(void **state)
{
    topology_map_fini(&map);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_have_owners),
        cmocka_unit_test(a_member_without_a_host_is_at_that_of_who_replied),
        cmocka_unit_test(what_is_no_list_of_slots_is_refused),
        cmocka_unit_test(a_master_of_sentinel_has_a_host_and_a_port),
        cmocka_unit_test(the_newest_configuration_has_the_highest_epoch),
        cmocka_unit_test(moved_names_a_slot_and_a_place),
        cmocka_unit_test(too_many_places_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, forget);
}
