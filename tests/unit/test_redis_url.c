/* SPDX-License-Identifier: MIT
 * test_redis_url.c - redis_parse_url of shared/redis/conn.h: where Redis is, and what is refused.
 */
#include "shared/redis/conn.h"
#include "shared/redis/tls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct redis_address address;
static char reason[200];

static bool parse(const char *url)
{
    memset(&address, 0xee, sizeof address);
    reason[0] = 0;
    return redis_parse_url(str_of(url), &address, reason, sizeof reason);
}

static void assert_address(const char *url, const char *host, int port, int db, const char *user,
                           const char *password)
{
    assert_true(parse(url));
    assert_string_equal(address.host, host);
    assert_string_equal(address.path, "");
    assert_int_equal(address.port, port);
    assert_int_equal(address.db, db);
    assert_string_equal(address.user, user);
    assert_string_equal(address.password, password);
}

static void every_part_but_the_host_may_be_left_out(void **state)
{
    assert_address("redis://127.0.0.1", "127.0.0.1", 6379, 0, "", "");
    assert_address("redis://redis:6400", "redis", 6400, 0, "", "");
    assert_address("redis://redis/", "redis", 6379, 0, "", "");
    assert_address("redis://redis:6400/15", "redis", 6400, 15, "", "");
    assert_address("redis://u:p@redis:1/2", "redis", 1, 2, "u", "p");
    assert_address("redis://:p@redis", "redis", 6379, 0, "", "p");
    assert_address("redis://p@redis", "redis", 6379, 0, "", "p");
    assert_address("redis://u:@redis", "redis", 6379, 0, "u", "");
    assert_address("redis://u:a@b:c@redis:65535", "redis", 65535, 0, "u", "a@b:c");
}

static void a_unix_socket_has_a_path(void **state)
{
    assert_true(parse("unix:/run/redis.sock"));
    assert_string_equal(address.path, "/run/redis.sock");
    assert_int_equal(address.db, 0);
    assert_true(parse("unix:/run/redis.sock?db=3"));
    assert_string_equal(address.path, "/run/redis.sock");
    assert_int_equal(address.db, 3);
}

static void sentinels_are_listed_before_the_name_of_their_master(void **state)
{
    assert_true(parse("redis+sentinel://u:p@10.0.0.1:26380,s2,[::1]:3/main/4"));
    assert_int_equal(address.kind, REDIS_SENTINEL);
    assert_string_equal(address.seeds, "10.0.0.1:26380,s2,[::1]:3");
    assert_string_equal(address.master, "main");
    assert_string_equal(address.user, "u");
    assert_string_equal(address.password, "p");
    assert_int_equal(address.db, 4);
    assert_true(parse("redis+sentinel://s1/main"));
    assert_int_equal(address.db, 0);
    assert_string_equal(address.host, "");
}

static void members_of_a_redis_cluster_are_listed(void **state)
{
    assert_true(parse("redis+cluster://:a,b@10.0.0.1:7000,10.0.0.2"));
    assert_int_equal(address.kind, REDIS_OF_CLUSTER);
    assert_string_equal(address.seeds, "10.0.0.1:7000,10.0.0.2");
    assert_string_equal(address.password, "a,b");
    assert_true(parse("redis+cluster://10.0.0.1/0"));
}

static void a_host_and_its_port(void **state)
{
    char host[256];
    int port;
    assert_true(redis_parse_endpoint(STR("[::1]:7"), 5, host, &port));
    assert_string_equal(host, "::1");
    assert_int_equal(port, 7);
    assert_true(redis_parse_endpoint(STR("[::1]"), 5, host, &port));
    assert_int_equal(port, 5);
    assert_true(redis_parse_endpoint(STR("::1:7"), 5, host, &port));
    assert_string_equal(host, "::1");
    assert_false(redis_parse_endpoint(STR("[::1]7"), 5, host, &port));
    assert_false(redis_parse_endpoint(STR("[]:7"), 5, host, &port));
    assert_false(redis_parse_endpoint(STR(""), 5, host, &port));
}

/* Of Redis Cluster's specification, and of CLUSTER KEYSLOT. */
static void a_key_has_the_slot_of_its_hash_tag(void **state)
{
    assert_int_equal(redis_slot_of(STR("123456789")), 12739);
    assert_int_equal(redis_slot_of(STR("parley:{0}:t:x")), redis_slot_of(STR("0")));
    assert_int_equal(redis_slot_of(STR("foo{}{bar}")), 8363);
    assert_int_equal(redis_slot_of(STR("foo{{bar}}zap")), redis_slot_of(STR("{bar")));
    assert_int_equal(redis_slot_of(STR("a{b")), redis_slot_of(STR("a{b")));
}

static void other_forms_are_refused_with_a_reason(void **state)
{
    static const char *const bad[] = {
        "",
        "redis",
        "redis:",
        "redis://",
        "redis://:6379",
        "redis://@",
        "redis://u:p@",
        "http://x",
        "redis://x:0",
        "redis://x:65536",
        "redis://x:",
        "redis://x:1x",
        "redis://x/a",
        "redis://x/10000",
        "redis://x/-1",
        "redis://x/1/2",
        "unix:",
        "unix:?db=1",
        "unix:/x?db=",
        "unix:/x?db=10000",
        "unix:/x?x=1",
        "redis+sentinel://",
        "redis+sentinel://s1",
        "redis+sentinel://s1/",
        "redis+sentinel:///main",
        "redis+sentinel://s1,/main",
        "redis+sentinel://s1/main/x",
        "redis+sentinel://s1/main/1/2",
        "redis+cluster://",
        "redis+cluster://h:0",
        "redis+cluster://h,,h",
        "redis+cluster://h/1",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (parse(bad[i]))
            fail_msg("'%s' was taken", bad[i]);
        assert_non_null(strstr(reason, "redis"));
        assert_int_equal((unsigned char)address.host[0], 0xee);
    }
}

static void tls_is_read_or_refused_by_name(void **state)
{
    static const char *const urls[] = {"rediss://u:p@10.0.0.1:7000/0",
                                       "rediss+sentinel://u:p@10.0.0.1:7000/main",
                                       "rediss+cluster://u:p@10.0.0.1:7000"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        assert_int_equal(parse(urls[i]), redis_tls_is_built_in());
        if (redis_tls_is_built_in()) {
            assert_true(address.is_tls);
            assert_string_equal(address.password, "p");
        } else {
            assert_non_null(strstr(reason, "TLS"));
        }
    }
    assert_true(parse("redis://h"));
    assert_false(address.is_tls);
}

static void a_list_of_servers_is_refused_by_name(void **state)
{
    static const char *const lists[] = {
        "redis://a,redis://b",
        "redis://a:1/0,unix:/b",
        "redis://:p@a,redis://:p@b",
        "redis://a,b",
        "redis://a:1,b:2/3",
        "unix:/a,unix:/b",
        "redis+sentinel://a/m,redis+sentinel://b/m",
        "redis+cluster://a,redis://b",
        "redis://a,rediss://b",
        "redis://a,rediss+sentinel://b/m",
        "redis://a,rediss+cluster://b",
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        assert_false(parse(lists[i]));
        assert_non_null(strstr(reason, "is one Redis, not a list of servers"));
        assert_int_equal((unsigned char)address.host[0], 0xee);
    }
    assert_true(parse("unix:/a,b"));
    assert_string_equal(address.path, "/a,b");
    assert_true(parse("redis://:a,b@h"));
    assert_string_equal(address.password, "a,b");
}

/* Each part fits its array with the NUL after it, or is refused. */
static void long_parts_are_refused_not_cut(void **state)
{
    static const struct {
        const char *before, *behind;
        size_t most;
    } parts[] = {
        {"redis://", ":1", sizeof address.host - 1},
        {"redis://", ":p@h", sizeof address.user - 1},
        {"redis://u:", "@h", sizeof address.password - 1},
        {"unix:/", "", sizeof address.path - 2},
        {"redis+sentinel://h/", "", sizeof address.master - 1},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (size_t extra = 0; extra < 2; extra++) {
            char url[1024], fill[600];
            memset(fill, 'x', sizeof fill);
            fill[parts[i].most + extra] = 0;
            snprintf(url, sizeof url, "%s%s%s", parts[i].before, fill, parts[i].behind);
            assert_int_equal(parse(url), extra == 0);
        }
}

static void a_password_from_a_file_joins_the_user_of_the_url(void **state)
{
    char long_one[600];
    memset(long_one, 'x', sizeof long_one);
    assert_true(parse("redis://u:@redis"));
    assert_true(redis_set_password(&address, STR("a@b:/c"), reason, sizeof reason));
    assert_string_equal(address.user, "u");
    assert_string_equal(address.password, "a@b:/c");
    struct str words[3];
    assert_int_equal(redis_auth_words(&address, words), 3);
    assert_false(redis_set_password(&address, STR("another"), reason, sizeof reason));
    assert_string_equal(address.password, "a@b:/c");
    assert_true(parse("unix:/run/redis.sock"));
    assert_false(redis_set_password(&address, (struct str){long_one, sizeof address.password},
                                    reason, sizeof reason));
    assert_string_equal(address.password, "");
    assert_true(redis_set_password(&address, (struct str){long_one, sizeof address.password - 1},
                                   reason, sizeof reason));
    assert_int_equal(strlen(address.password), sizeof address.password - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_but_the_host_may_be_left_out),
        cmocka_unit_test(a_unix_socket_has_a_path),
        cmocka_unit_test(sentinels_are_listed_before_the_name_of_their_master),
        cmocka_unit_test(members_of_a_redis_cluster_are_listed),
        cmocka_unit_test(a_host_and_its_port),
        cmocka_unit_test(a_key_has_the_slot_of_its_hash_tag),
        cmocka_unit_test(other_forms_are_refused_with_a_reason),
        cmocka_unit_test(tls_is_read_or_refused_by_name),
        cmocka_unit_test(a_list_of_servers_is_refused_by_name),
        cmocka_unit_test(long_parts_are_refused_not_cut),
        cmocka_unit_test(a_password_from_a_file_joins_the_user_of_the_url),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
