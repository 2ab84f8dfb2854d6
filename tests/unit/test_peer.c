/* SPDX-License-Identifier: MIT
 * test_peer.c - shared/http/request/peer.h: whose address a request has, and which network that is.
 */
#include "shared/http/request/peer.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* A request as libh2o would hand it over, from an address of the test's choice. */
static const char *from;
static struct server_config config;
static struct server server = {.config = &config};
static h2o_conn_t conn;
static h2o_req_t h2o;
static struct request request;

static socklen_t get_peername(h2o_conn_t *of, struct sockaddr *ret_address)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;
    assert_ptr_equal(of, &conn);
    if (from == NULL)
        return 0;
    if (inet_pton(AF_INET, from, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        return sizeof *v4;
    }
    assert_int_equal(inet_pton(AF_INET6, from, &v6->sin6_addr), 1);
    v6->sin6_family = AF_INET6;
    return sizeof *v6;
}

static void begin(const char *peer, const char *proxies)
{
    static const h2o_conn_callbacks_t callbacks = {.get_peername = get_peername};
    from = peer;
    config.trusted_proxies = proxies;
    conn.callbacks = &callbacks;
    memset(&h2o, 0, sizeof h2o);
    h2o_mem_init_pool(&h2o.pool);
    h2o.conn = &conn;
    request = (struct request){.exchange.h2o = &h2o, .server = &server};
}

static void add_forwarded(const char *value)
{
    h2o_add_header_by_str(&h2o.pool, &h2o.headers, H2O_STRLIT("x-forwarded-for"), 1, NULL, value,
                          strlen(value));
}

static void end(const char *expected)
{
    struct str address = peer_address(&request);
    assert_int_equal(address.n, strlen(expected));
    assert_memory_equal(address.at, expected, address.n);
    assert_ptr_equal(peer_address(&request).at, address.at);
    h2o_mem_clear_pool(&h2o.pool);
}

static void the_address_is_the_peers(void **state)
{
    begin("192.0.2.1", "");
    end("192.0.2.1");
    begin("2001:db8::1", NULL);
    end("2001:db8::1");
    begin(NULL, "");
    end("unix");
}

static void nobody_but_a_trusted_proxy_forwards(void **state)
{
    begin("192.0.2.1", "");
    add_forwarded("198.51.100.7");
    end("192.0.2.1");
    begin("192.0.2.1", "10.0.0.0/8");
    add_forwarded("198.51.100.7");
    end("192.0.2.1");
    begin("10.1.2.3", "10.0.0.0/8");
    add_forwarded("198.51.100.7");
    end("198.51.100.7");
    begin("10.1.2.3", "10.0.0.0/8");
    end("10.1.2.3");
}

static void the_last_one_that_is_no_trusted_proxy_counts(void **state)
{
    begin("10.1.2.3", "10.0.0.0/8, fd00::/8");
    add_forwarded("203.0.113.5, 198.51.100.7, fd00::9 ,10.9.9.9");
    end("198.51.100.7");
    begin("10.1.2.3", "10.0.0.0/8");
    add_forwarded("10.0.0.1, 10.0.0.2");
    end("10.0.0.1");
    begin("::ffff:10.1.2.3", "10.0.0.0/8");
    add_forwarded("2001:db8::7");
    end("2001:db8::7");
}

static void what_a_client_wrote_in_a_header_of_its_own_does_not_count(void **state)
{
    begin("10.1.2.3", "10.0.0.0/8");
    add_forwarded("203.0.113.5");
    add_forwarded("198.51.100.7");
    end("198.51.100.7");
    begin("10.1.2.3", "10.0.0.0/8");
    add_forwarded("203.0.113.5");
    add_forwarded("198.51.100.7");
    add_forwarded("10.4.4.4");
    end("198.51.100.7");
}

static void what_is_no_address_ends_the_list(void **state)
{
    static const char *const bad[] = {"unknown",
                                      "",
                                      ",",
                                      "198.51.100.7:http:80",
                                      "[198.51.100.7",
                                      "x, ",
                                      "198.51.100.777",
                                      "198.51.100.7 10.0.0.1",
                                      "%31"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        begin("10.1.2.3", "10.0.0.0/8");
        add_forwarded(bad[i]);
        end("10.1.2.3");
    }
}

static void a_port_after_an_address_is_ignored(void **state)
{
    begin("10.1.2.3", "10.0.0.0/8");
    add_forwarded("198.51.100.7:8080");
    end("198.51.100.7");
    begin("10.1.2.3", "10.0.0.0/8");
    add_forwarded("[2001:db8::7]:8080");
    end("2001:db8::7");
}

static void blocks_hold_addresses_and_networks(void **state)
{
    static const struct {
        const char *peer, *proxies;
        bool is_trusted;
    } rows[] = {
        {"192.0.2.1", "192.0.2.1", true},
        {"192.0.2.2", "192.0.2.1", false},
        {"192.0.2.1", "192.0.2.0/31", true},
        {"192.0.2.2", "192.0.2.0/31", false},
        {"192.0.2.1", "0.0.0.0/0", true},
        {"2001:db8::1", "0.0.0.0/0", false},
        {"2001:db8::1", "::/0", true},
        {"192.0.2.1", "::/0", true},
        {"2001:db8::1", "2001:db8::/127", true},
        {"2001:db8::2", "2001:db8::/127", false},
        {"192.0.2.1", "10.0.0.0/8,192.0.2.1/32", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(rows[i].peer, rows[i].proxies);
        add_forwarded("198.51.100.7");
        end(rows[i].is_trusted ? "198.51.100.7" : rows[i].peer);
    }
}

static void a_list_is_checked_before_it_is_used(void **state)
{
    static const char *const good[] = {"", "10.0.0.1", "10.0.0.0/8", "::1,fd00::/8",
                                       " 10.0.0.1 , ::1 "};
    static const char *const bad[] = {"x",           "10.0.0.0/33", "::/129",        "10.0.0.1/",
                                      "10.0.0.1/-1", "10.0.0.1/a",  "10.0.0.1,,::1", "10.0.0.1/8/8",
                                      "10.0.0",      "/8",          "10.0.0.1/08x",  ","};
    char reason[100];
    assert_true(peer_check_list(NULL, reason, sizeof reason));
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!peer_check_list(good[i], reason, sizeof reason))
            fail_msg("'%s' was refused: %s", good[i], reason);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        reason[0] = 0;
        if (peer_check_list(bad[i], reason, sizeof reason))
            fail_msg("'%s' was taken", bad[i]);
        assert_non_null(strstr(reason, "not an address or CIDR block"));
    }
}

static void a_network_is_what_one_party_surely_has(void **state)
{
    static const struct {
        const char *address, *network;
    } rows[] = {
        {"192.0.2.1", "192.0.2.1"},
        {"::ffff:192.0.2.1", "192.0.2.1"},
        {"::FFFF:c000:201", "192.0.2.1"},
        {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
        {"2001:DB8:1:2::9", "2001:db8:1:2::/64"},
        {"2001:db8:1:3::9", "2001:db8:1:3::/64"},
        {"::1", "::/64"},
        {"unix", "unix"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf b;
        buf_init(&b, PEER_TEXT_MAX);
        peer_put_network(&b, str_of(rows[i].address));
        assert_true(str_eq(buf_str(&b), str_of(rows[i].network)));
        buf_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_address_is_the_peers),
        cmocka_unit_test(nobody_but_a_trusted_proxy_forwards),
        cmocka_unit_test(the_last_one_that_is_no_trusted_proxy_counts),
        cmocka_unit_test(what_a_client_wrote_in_a_header_of_its_own_does_not_count),
        cmocka_unit_test(what_is_no_address_ends_the_list),
        cmocka_unit_test(a_port_after_an_address_is_ignored),
        cmocka_unit_test(blocks_hold_addresses_and_networks),
        cmocka_unit_test(a_list_is_checked_before_it_is_used),
        cmocka_unit_test(a_network_is_what_one_party_surely_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
