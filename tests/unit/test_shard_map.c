/* SPDX-License-Identifier: MIT
 * test_shard_map.c - shared/redis/shard_map.h. */
#include "shared/redis/shard_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SLOTS = 16384 };

/* Of a key, as Redis Cluster's specification has it: CRC16 (XMODEM) of what the first braces hold.
 */
static unsigned slot_of(const char *key)
{
    const char *from = strchr(key, '{') + 1, *till = strchr(from, '}');
    unsigned crc = 0;
    for (; from < till; from++) {
        crc ^= (unsigned)(unsigned char)*from << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1) & 0xffff;
    }
    return crc % SLOTS;
}

static struct shard_map named(const char *base, unsigned n)
{
    struct shard_map map = {.server_n = 1};
    const char *reason;
    assert_true(shard_map_name(&map, str_of(base), n, &reason));
    return map;
}

static const char *refused(const char *base, unsigned n)
{
    struct shard_map map = {.server_n = 1};
    const char *reason;
    assert_false(shard_map_name(&map, str_of(base), n, &reason));
    return reason;
}

static void slots_are_those_of_redis(void **state)
{
    assert_int_equal(slot_of("{foo}"), 12182);
    assert_int_equal(slot_of("x{123456789}y"), 12739);
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void shards_are_spread_evenly_over_the_slots_of_a_cluster(void **state)
{
    for (unsigned n = 1; n <= SHARDS_MAX; n *= 2) {
        struct shard_map map = named("parley:", n);
        int slots[SHARDS_MAX];
        for (unsigned i = 0; i < n; i++)
            slots[i] = (int)slot_of(map.prefixes[i]);
        qsort(slots, n, sizeof *slots, by_value);
        for (unsigned i = 0; i < n; i++) {
            int gap = i + 1 < n ? slots[i + 1] - slots[i] : slots[0] + SLOTS - slots[i];
            assert_true(abs(gap - SLOTS / (int)n) < 100);
        }
    }
}

static void a_prefix_is_the_part_before_the_tag_or_that_of_shard_0(void **state)
{
    struct shard_map one = named("parley:", 1), same = named("parley:{0}:", 1);
    struct shard_map four = named("parley:{0}:", 4), own = named("x{my}y:", 1);
    assert_string_equal(one.prefixes[0], "parley:{0}:");
    assert_string_equal(same.prefixes[0], "parley:{0}:");
    assert_string_equal(four.prefixes[0], "parley:{0}:");
    assert_string_equal(four.prefixes[3], "parley:{3ew}:");
    assert_string_equal(own.prefixes[0], "x{my}y:");
}

static void what_cannot_be_is_refused(void **state)
{
    const unsigned numbers[] = {0, 3, 6, 65, 128};
    char longest[SHARD_BASE_MAX_BYTES + 2];
    for (unsigned i = 0; i < 5; i++)
        assert_string_equal(refused("parley:", numbers[i]), "takes a power of two from 1 to 64");
    assert_non_null(strstr(refused("x{my}y:", 2), "hash tag"));
    assert_non_null(strstr(refused("{x}{0}:", 2), "hash tag"));
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_string_equal(refused(longest, 1), "takes at most 64 bytes");
    longest[sizeof longest - 2] = 0;
    assert_int_equal(strlen(named(longest, 64).prefixes[63]), SHARD_BASE_MAX_BYTES + 7);
}

/* Stored data depends on it: a name must never move to another shard. */
static void names_keep_their_shards(void **state)
{
    assert_int_equal(shard_of(STR("hello"), 1), 0);
    assert_int_equal(shard_of(STR(""), 64), 11);
    assert_int_equal(shard_of(STR("hello"), 64), 46);
    assert_int_equal(shard_of(STR("DGQIn+5troxI"), 64), 13);
}

static void names_are_spread_evenly_and_half_of_them_move_when_shards_double(void **state)
{
    unsigned counts[8] = {0}, moved_n = 0;
    for (unsigned i = 0; i < 80000; i++) {
        char text[32];
        struct str name = {text, (size_t)snprintf(text, sizeof text, "topic-%u", i)};
        unsigned shard = shard_of(name, 8), next = shard_of(name, 16);
        counts[shard]++;
        assert_true(next == shard || next == shard + 8);
        moved_n += next != shard;
    }
    for (unsigned i = 0; i < 8; i++)
        assert_in_range(counts[i], 9500, 10500);
    assert_in_range(moved_n, 39000, 41000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_are_those_of_redis),
        cmocka_unit_test(shards_are_spread_evenly_over_the_slots_of_a_cluster),
        cmocka_unit_test(a_prefix_is_the_part_before_the_tag_or_that_of_shard_0),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(names_keep_their_shards),
        cmocka_unit_test(names_are_spread_evenly_and_half_of_them_move_when_shards_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
