/* SPDX-License-Identifier: MIT
 * test_agreement.c - shared/redis/agreement.h against a redis-server of its own, whose databases
 * stand for servers. */
#include "shared/redis/agreement.h"

#include "shared/base/log.h"
#include "shared/redis/blocking.h"
#include "tests/unit/redis_fixture.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define V "3"
#define OTHER "99" /* of a build to come */
_Static_assert(DATA_VERSION == 3, "write the new data version in V");

static char reason[256];

static struct shard_map map_of(unsigned server_n, unsigned n, bool is_given)
{
    struct shard_map map = {.server_n = server_n, .is_n_given = is_given};
    const char *fault;
    assert_true(shard_map_name(&map, STR("parley:"), n, &fault));
    for (unsigned i = 0; i < server_n; i++) {
        map.servers[i] = redis_fixture.address;
        map.servers[i].db = (int)i;
    }
    return map;
}

static void swap_servers(struct shard_map *map)
{
    struct redis_address first = map->servers[0];
    map->servers[0] = map->servers[1];
    map->servers[1] = first;
}

static enum agreed start(struct shard_map *map)
{
    reason[0] = 0;
    enum agreed agreed = agreement_make(map, true, reason, sizeof reason);
    assert_int_equal(map->is_agreed, agreed == AGREED);
    return agreed;
}

/* One command on a server; the first string of its answer. */
static const char *command(unsigned db, const struct str *words, size_t n)
{
    static char text[128];
    struct redis_address address = redis_fixture.address;
    address.db = (int)db;
    struct blocking *blocking = blocking_create(&(struct blocking_config){
        .address = &address, .prefix = "parley:{0}:", .name = "test", .patience_ms = 20000});
    struct blocking_answer answer;
    assert_int_equal(blocking_command(blocking, words, n, 0, &answer), ERR_OK);
    struct str found = answer.n > 0 ? answer.at[0] : STR("");
    snprintf(text, sizeof text, "%.*s", STR_ARG(found));
    blocking_destroy(blocking);
    return text;
}

static const char *get(unsigned db, const char *key)
{
    struct str words[] = {STR("GET"), str_of(key)};
    return command(db, words, 2);
}

static void set(unsigned db, const char *key, const char *value)
{
    struct str words[] = {STR("SET"), str_of(key), str_of(value)};
    (void)command(db, words, 3);
}

static void empty(unsigned db)
{
    struct str words[] = {STR("FLUSHDB")};
    (void)command(db, words, 1);
}

static int empty_all(void **state)
{
    for (unsigned db = 0; db < 3; db++)
        empty(db);
    return 0;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void the_first_start_writes_the_records_and_the_next_one_takes_them_over(void **state)
{
    struct shard_map first = map_of(2, 4, true), second = map_of(2, 2, false);
    assert_int_equal(start(&first), AGREED);
    assert_int_equal(start(&second), AGREED);
    assert_int_equal(second.n, 4);
    assert_string_equal(second.prefixes[3], "parley:{3ew}:");
    assert_string_equal(second.id, first.id);
    assert_non_null(strstr(get(0, "parley:{0}:cluster"), " 0 2 4 whole"));
    assert_non_null(strstr(get(1, "parley:{0}:cluster"), " 1 2 4 begun"));
}

static void another_number_of_shards_or_servers_is_refused(void **state)
{
    struct shard_map first = map_of(2, 4, true), other = map_of(2, 8, true);
    struct shard_map lonely = map_of(1, 1, false), many = map_of(3, 4, false);
    assert_int_equal(start(&first), AGREED);
    assert_int_equal(start(&other), AGREED_REFUSED);
    assert_non_null(strstr(reason, "--shards is 8, but this cluster has 4"));
    assert_int_equal(start(&lonely), AGREED_REFUSED);
    assert_int_equal(start(&many), AGREED_REFUSED);
    assert_non_null(strstr(reason, "--redis lists 3"));
}

static void servers_in_another_order_are_refused(void **state)
{
    struct shard_map first = map_of(2, 4, true), other = map_of(2, 4, false);
    swap_servers(&other);
    assert_int_equal(start(&first), AGREED);
    assert_int_equal(start(&other), AGREED_REFUSED);
    assert_non_null(strstr(reason, "a different order"));
}

static void of_two_that_start_at_once_the_one_that_wins_the_first_server_decides(void **state)
{
    struct shard_map second = map_of(2, 8, true), third = map_of(2, 2, false);
    set(0, "parley:{0}:cluster", V " 0123456789abcdef 0 2 4 begun"); /* the other one is so far */
    assert_int_equal(start(&second), AGREED_REFUSED);
    assert_string_equal(get(1, "parley:{0}:cluster"), "");
    assert_int_equal(start(&third), AGREED);
    assert_int_equal(third.n, 4);
    assert_string_equal(get(0, "parley:{0}:cluster"), V " 0123456789abcdef 0 2 4 whole");
    assert_string_equal(get(1, "parley:{0}:cluster"), V " 0123456789abcdef 1 2 4 begun");
}

static void a_server_that_has_lost_its_record_is_left_as_it_is(void **state)
{
    struct shard_map first = map_of(2, 4, true), next = map_of(2, 2, false);
    assert_int_equal(start(&first), AGREED);
    empty(1);
    assert_int_equal(start(&next), AGREED);
    assert_string_equal(get(1, "parley:{0}:cluster"), "");
}

static void send_away(struct shard_map *map, unsigned server)
{
    snprintf(map->servers[server].path, sizeof map->servers[server].path, "/nowhere");
}

static void a_first_server_that_has_lost_its_record_is_left_as_it_is(void **state)
{
    struct shard_map first = map_of(2, 4, true), next = map_of(2, 2, false);
    assert_int_equal(start(&first), AGREED);
    empty(0);
    assert_int_equal(start(&next), AGREED);
    assert_int_equal(next.n, 4);
    assert_string_equal(next.id, first.id);
    assert_string_equal(get(0, "parley:{0}:cluster"), "");
}

static void without_its_first_server_a_cluster_is_known_by_the_others(void **state)
{
    struct shard_map first = map_of(2, 4, true), next = map_of(2, 2, false),
                     other = map_of(2, 8, true);
    assert_int_equal(start(&first), AGREED);
    send_away(&next, 0);
    send_away(&other, 0);
    assert_int_equal(start(&next), AGREED);
    assert_int_equal(next.n, 4);
    assert_int_equal(start(&other), AGREED_REFUSED);
}

static void a_first_start_waits_for_all_servers(void **state)
{
    struct shard_map map = map_of(3, 4, true);
    send_away(&map, 2); /* it may hold the record that the others have lost */
    assert_int_equal(start(&map), AGREED_NOT_YET);
    assert_non_null(strstr(reason, "server 3 of 3"));
    assert_string_equal(get(0, "parley:{0}:cluster"), "");
}

static void a_cluster_that_was_never_whole_waits_for_all_servers(void **state)
{
    struct shard_map map = map_of(3, 4, true), again = map_of(3, 4, true);
    set(0, "parley:{0}:cluster", V " 0123456789abcdef 0 3 4 begun");
    send_away(&map, 2);
    assert_int_equal(start(&map), AGREED_NOT_YET);
    assert_int_equal(start(&again), AGREED);
    assert_string_equal(get(2, "parley:{0}:cluster"), V " 0123456789abcdef 2 3 4 begun");
}

static void data_of_one_shard_on_any_server_refuse_more(void **state)
{
    struct shard_map map = map_of(2, 4, true);
    struct str words[] = {STR("HSET"), STR("parley:{0}:meta"), STR("lease"), STR("7")};
    (void)command(1, words, 4);
    assert_int_equal(start(&map), AGREED_REFUSED);
    assert_string_equal(get(0, "parley:{0}:cluster"), "");
}

static void an_emptied_server_is_used_again_by_hand_only(void **state)
{
    struct shard_map map = map_of(2, 4, true);
    struct agreement_server servers[2];
    char text[AGREEMENT_TEXT_BYTES];
    assert_int_equal(agreement_read(&map, servers, reason, sizeof reason), AGREED_NOT_YET);
    assert_int_equal(agreement_rewrite(&map, 1, reason, sizeof reason), AGREED_REFUSED);
    assert_int_equal(start(&map), AGREED);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "%s", get(i, "parley:{0}:cluster"));
        assert_int_equal(agreement_rewrite(&map, i, reason, sizeof reason), AGREED_REFUSED);
        empty(i);
        assert_int_equal(agreement_read(&map, servers, reason, sizeof reason), AGREED);
        assert_int_equal(servers[i].answer, AGREEMENT_NONE);
        assert_int_equal(servers[1 - i].answer, AGREEMENT_RECORD);
        assert_string_equal(get(i, "parley:{0}:cluster"), "");
        assert_int_equal(agreement_rewrite(&map, i, reason, sizeof reason), AGREED);
        assert_string_equal(get(i, "parley:{0}:cluster"), text);
    }
    assert_int_equal(agreement_rewrite(&map, 2, reason, sizeof reason), AGREED_REFUSED);
    send_away(&map, 1);
    assert_int_equal(agreement_rewrite(&map, 1, reason, sizeof reason), AGREED_NOT_YET);
}

static void a_server_of_another_cluster_is_refused(void **state)
{
    struct shard_map first = map_of(2, 4, true), next = map_of(2, 2, false);
    assert_int_equal(start(&first), AGREED);
    set(1, "parley:{0}:cluster", V " fedcba9876543210 1 2 4 begun");
    assert_int_equal(start(&next), AGREED_REFUSED);
    assert_non_null(strstr(reason, "a different cluster"));
}

static void data_without_a_record_are_one_shard(void **state)
{
    struct shard_map more = map_of(1, 4, true), unset = map_of(1, 1, false);
    struct str words[] = {STR("HSET"), STR("parley:{0}:meta"), STR("lease"), STR("7")};
    (void)command(0, words, 4);
    assert_int_equal(start(&more), AGREED_REFUSED);
    assert_int_equal(start(&unset), AGREED);
    assert_int_equal(unset.n, 1);
    assert_int_equal(start(&more), AGREED_REFUSED);
}

static void who_only_reads_writes_nothing(void **state)
{
    struct shard_map map = map_of(1, 1, false);
    assert_int_equal(agreement_make(&map, false, reason, sizeof reason), AGREED);
    assert_string_equal(get(0, "parley:{0}:cluster"), "");
}

static void without_its_first_server_nothing_is_known(void **state)
{
    struct shard_map map = map_of(1, 1, false);
    snprintf(map.servers[0].path, sizeof map.servers[0].path, "/nowhere");
    assert_int_equal(start(&map), AGREED_NOT_YET);
    assert_true(reason[0] != 0);
}

static void what_is_no_record_is_not_read_as_one(void **state)
{
    struct agreement a;
    static const char *const texts[] = {
        V,
        V " ",
        V " 0123456789abcdef",
        V " 0123456789abcde 0 1 1 whole",
        V " 0123456789abcdef 0 1 65 whole",
        V " 0123456789abcdef 0 1 x whole",
        V " 0123456789abcdef 0 1 1 ",
        V " 0123456789abcdef 0 1 1 whole ",
    };
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(agreement_parse(str_of(texts[i]), &a));
    assert_true(agreement_parse(STR(V " 0123456789abcdef 1 2 64 begun"), &a));
    assert_true(a.server == 1 && a.server_n == 2 && a.shard_n == 64 && !a.is_whole);
    assert_true(a.data_version == DATA_VERSION && strcmp(a.id, "0123456789abcdef") == 0);
}

/* Those without one, and what they are of. */
static const struct {
    const char *record;
    unsigned data_version;
} of_others[] = {
    {"", 0},
    {"0123456789abcdef 0 1 1 whole", 0}, /* as before there was a data version */
    {"0123456789012345 0 1 1 whole", 0}, /* an id of digits only */
    {"000000001234567890 0 1 1 whole", 0},
    {"0 0123456789abcdef 0 1 1 whole", 0},
    {"-1 0123456789abcdef 0 1 1 whole", 0},
    {V "x 0123456789abcdef 0 1 1 whole", 0},
    {" " V " 0123456789abcdef 0 1 1 whole", 0},
    {OTHER " 0123456789abcdef 0 1 1 whole", 99},
    {"999999999", 999999999},
    {"10 in a form that this build does not know", 10},
};
enum { OF_OTHERS_N = sizeof of_others / sizeof *of_others };

static void of_a_record_of_another_data_version_only_that_is_read(void **state)
{
    for (unsigned i = 0; i < OF_OTHERS_N; i++) {
        struct agreement a = {.shard_n = 64};
        assert_true(agreement_parse(str_of(of_others[i].record), &a));
        assert_int_equal(a.data_version, of_others[i].data_version);
        assert_true(a.shard_n == 0 && a.server_n == 0 && a.id[0] == 0);
    }
}

static void what_is_written_is_read(void **state)
{
    char text[AGREEMENT_TEXT_BYTES];
    struct agreement a, most = {.data_version = DATA_VERSION,
                                .server = SHARDS_MAX - 1,
                                .server_n = SHARDS_MAX,
                                .shard_n = SHARDS_MAX,
                                .is_whole = true};
    str_random_hex(CLUSTER_ID_BYTES / 2, most.id);
    assert_true(agreement_parse(agreement_put(&most, text), &a));
    assert_memory_equal(&a, &most, sizeof a);
}

#define THEN                                                                                       \
    "the data in Redis has %s, and this Parley (" PARLEY_VERSION ") reads only data version " V    \
    ": use "

static void another_data_version_is_refused_and_left_as_it_is(void **state)
{
    for (unsigned i = 0; i < OF_OTHERS_N; i++) {
        struct shard_map one = map_of(1, 1, false), four = map_of(1, 4, true);
        struct shard_map *maps[] = {&one, &four};
        char has[32] = "no data version", expected[160];
        if (of_others[i].data_version > 0)
            snprintf(has, sizeof has, "data version %u", of_others[i].data_version);
        snprintf(expected, sizeof expected, THEN, has);
        set(0, "parley:{0}:cluster", of_others[i].record);
        for (unsigned k = 0; k < 2; k++) {
            struct agreement_server server;
            assert_int_equal(start(maps[k]), AGREED_REFUSED);
            assert_memory_equal(reason, expected, strlen(expected));
            assert_int_equal(agreement_make(maps[k], false, reason, sizeof reason), AGREED_REFUSED);
            assert_int_equal(agreement_read(maps[k], &server, reason, sizeof reason),
                             AGREED_REFUSED);
            assert_int_equal(agreement_rewrite(maps[k], 0, reason, sizeof reason), AGREED_REFUSED);
            assert_memory_equal(reason, expected, strlen(expected));
        }
        assert_string_equal(get(0, "parley:{0}:cluster"), of_others[i].record);
    }
}

static void another_data_version_on_any_server_is_refused(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        struct shard_map first = map_of(2, 4, true), next = map_of(2, 4, true);
        (void)empty_all(state);
        assert_int_equal(start(&first), AGREED);
        set(i, "parley:{0}:cluster", OTHER " 0123456789abcdef 1 2 4 begun");
        assert_int_equal(start(&next), AGREED_REFUSED);
        assert_non_null(strstr(reason, "has data version " OTHER));
    }
    /* One that another start has begun. */
    struct shard_map map = map_of(2, 4, true);
    (void)empty_all(state);
    set(1, "parley:{0}:cluster", OTHER " 0123456789abcdef 1 2 4 begun");
    assert_int_equal(start(&map), AGREED_REFUSED);
    assert_string_equal(get(0, "parley:{0}:cluster"), "");
}

/* With each connection of a process that runs. */
static void a_connection_that_meets_another_data_version_is_not_used(void **state)
{
    struct shard_map map = map_of(1, 1, false);
    unsigned data_version = 7;
    char text[DATA_VERSION_TEXT_BYTES];
    assert_int_equal(start(&map), AGREED);
    assert_null(agreement_problem(str_of(get(0, "parley:{0}:cluster")), &map, 0));
    assert_non_null(agreement_problem(STR(V " 0123456789abcdef 0 1 4 whole"), &map, 0));
    assert_non_null(agreement_problem(STR(V " nonsense"), &map, 0));
    assert_false(agreement_has_met_other_data(&data_version));
    assert_int_equal(data_version, 0);
    assert_non_null(agreement_problem(STR(OTHER " anything"), &map, 0));
    assert_true(agreement_has_met_other_data(&data_version));
    assert_int_equal(data_version, 99);
    assert_non_null(
        strstr(agreement_explain_data(text, data_version), "has data version " OTHER ", "));
}

/* What a connection that belongs to `map` says of a server. */
static const char *meet(const struct shard_map *map, unsigned server)
{
    static char error[256];
    struct str words[] = {STR("PING")};
    struct blocking_answer answer;
    struct blocking *blocking =
        blocking_create(&(struct blocking_config){.address = &map->servers[server],
                                                  .prefix = map->prefixes[server],
                                                  .name = "test",
                                                  .patience_ms = 1,
                                                  .is_quiet = true,
                                                  .map = map,
                                                  .server = server});
    enum err met = blocking_command(blocking, words, 1, 0, &answer);
    snprintf(error, sizeof error, "%s", met == ERR_OK ? "fine" : blocking_error(blocking));
    blocking_destroy(blocking);
    return error;
}

static void a_connection_is_used_only_if_its_server_has_the_record_of_the_cluster(void **state)
{
    struct shard_map map = map_of(2, 2, false), one = map_of(1, 1, false);
    assert_int_equal(start(&map), AGREED);
    assert_string_equal(meet(&map, 0), "fine");
    assert_string_equal(meet(&map, 1), "fine");
    empty(1);
    assert_non_null(strstr(meet(&map, 1), "EMPTIED"));
    set(1, "parley:{0}:cluster", V " 0123456789abcdef 1 2 2 whole");
    assert_non_null(strstr(meet(&map, 1), "FOREIGN"));
    assert_string_equal(meet(&map, 0), "fine");
    /* An only server may have lost its data, and nobody else has to know what it was. */
    (void)empty_all(state);
    assert_int_equal(start(&one), AGREED);
    empty(0);
    assert_string_equal(meet(&one, 0), "fine");
    assert_string_equal(get(0, "parley:{0}:cluster"), "");
}

static int set_up(void **state)
{
    log_setup(LOG_ERROR, false);
    return redis_fixture_init() ? 0 : -1;
}

static int tear_down(void **state)
{
    redis_fixture_fini();
    return 0;
}

#define AGREEMENT_TEST(test) cmocka_unit_test_setup(test, empty_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        AGREEMENT_TEST(the_first_start_writes_the_records_and_the_next_one_takes_them_over),
        AGREEMENT_TEST(another_number_of_shards_or_servers_is_refused),
        AGREEMENT_TEST(servers_in_another_order_are_refused),
        AGREEMENT_TEST(of_two_that_start_at_once_the_one_that_wins_the_first_server_decides),
        AGREEMENT_TEST(a_server_that_has_lost_its_record_is_left_as_it_is),
        AGREEMENT_TEST(a_first_server_that_has_lost_its_record_is_left_as_it_is),
        AGREEMENT_TEST(without_its_first_server_a_cluster_is_known_by_the_others),
        AGREEMENT_TEST(a_first_start_waits_for_all_servers),
        AGREEMENT_TEST(a_cluster_that_was_never_whole_waits_for_all_servers),
        AGREEMENT_TEST(data_of_one_shard_on_any_server_refuse_more),
        AGREEMENT_TEST(an_emptied_server_is_used_again_by_hand_only),
        AGREEMENT_TEST(a_server_of_another_cluster_is_refused),
        AGREEMENT_TEST(data_without_a_record_are_one_shard),
        AGREEMENT_TEST(who_only_reads_writes_nothing),
        AGREEMENT_TEST(without_its_first_server_nothing_is_known),
        AGREEMENT_TEST(what_is_no_record_is_not_read_as_one),
        AGREEMENT_TEST(of_a_record_of_another_data_version_only_that_is_read),
        AGREEMENT_TEST(what_is_written_is_read),
        AGREEMENT_TEST(another_data_version_is_refused_and_left_as_it_is),
        AGREEMENT_TEST(another_data_version_on_any_server_is_refused),
        AGREEMENT_TEST(a_connection_that_meets_another_data_version_is_not_used),
        AGREEMENT_TEST(a_connection_is_used_only_if_its_server_has_the_record_of_the_cluster),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
