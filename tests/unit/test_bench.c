/* SPDX-License-Identifier: MIT
 * test_bench.c - what `parley bench` reads and computes: responses whole, in pieces and chunked,
 * JSON members where they lie, quantiles, URLs, processes. */
#include "services/bench/proc.h"
#include "services/bench/response.h"
#include "services/bench/samples.h"
#include "services/bench/target.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/wait.h>

#include <cmocka.h>

static char bytes[8192];

static enum bench_response_outcome parse(const char *text, struct bench_response *response)
{
    size_t n = strlen(text);
    memcpy(bytes, text, n);
    return bench_response_parse(bytes, n, response);
}

static void assert_str(struct str s, const char *expected)
{
    assert_int_equal(s.n, strlen(expected));
    assert_memory_equal(s.at, expected, s.n);
}

static void a_response_is_whole_only_with_its_last_byte(void **state)
{
    static const char *const texts[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: y\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct bench_response response;
        size_t n = strlen(texts[i]);
        for (size_t part = 0; part < n; part++) {
            memcpy(bytes, texts[i], n);
            assert_int_equal(bench_response_parse(bytes, part, &response), BENCH_RESPONSE_PARTIAL);
        }
        assert_int_equal(parse(texts[i], &response), BENCH_RESPONSE_WHOLE);
        assert_int_equal(response.status, 200);
        assert_int_equal(response.size, n);
        assert_str(response.body, "{}");
        assert_false(response.is_last);
    }
}

static void a_response_says_when_it_is_the_last(void **state)
{
    struct bench_response response;
    assert_int_equal(
        parse("HTTP/1.1 503 x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", &response),
        BENCH_RESPONSE_WHOLE);
    assert_true(response.is_last);
    assert_int_equal(response.status, 503);
    assert_int_equal(parse("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", &response),
                     BENCH_RESPONSE_WHOLE);
    assert_true(response.is_last);
    assert_int_equal(parse("HTTP/1.1 204 No Content\r\n\r\nHTTP", &response), BENCH_RESPONSE_WHOLE);
    assert_int_equal(response.body.n, 0);
}

static void what_is_not_http_is_broken(void **state)
{
    static const char *const texts[] = {
        "SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{}}\r\n0\r\n\r\n",
    };
    struct bench_response response;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(parse(texts[i], &response), BENCH_RESPONSE_BROKEN);
    static char endless[BENCH_HEAD_MAX_BYTES + 1];
    memset(endless, 'x', sizeof endless);
    assert_int_equal(bench_response_parse(endless, sizeof endless, &response),
                     BENCH_RESPONSE_BROKEN);
}

static void members_are_found_at_the_top_only(void **state)
{
    struct str json = STR(" {\"a\" : {\"Topic\":\"inner\"}, \"s\":\"\\\"Topic\\\":1\\\\\",\n"
                          "\"Topic\":\"t\\u0031\", \"Seq\":12}");
    struct str value;
    assert_true(bench_json_member(json, STR("Topic"), &value));
    assert_str(value, "\"t\\u0031\"");
    assert_true(bench_json_member(json, STR("Seq"), &value));
    assert_str(value, "12");
    assert_true(bench_json_member(json, STR("a"), &value));
    assert_str(value, "{\"Topic\":\"inner\"}");
    assert_false(bench_json_member(json, STR("inner"), &value));
    assert_false(bench_json_member(STR("[1]"), STR("a"), &value));
    assert_false(bench_json_member(STR("{\"a\":\"cut"), STR("a"), &value));
    assert_false(bench_json_member(STR("{\"a\":[1,{}"), STR("a"), &value));
    assert_false(bench_json_member(STR("{\"a\"}"), STR("a"), &value));
    assert_false(bench_json_member(STR("{}"), STR(""), &value));
    assert_false(bench_json_member((struct str){"", 0}, STR("a"), &value));
}

static void a_claim_is_walked_row_by_row(void **state)
{
    struct str rest = STR("[{\"2\":\"a, ]\"}, {\"3\":\"b\\\\\"} ]"), name, value;
    assert_true(bench_json_enter_array(&rest));
    assert_true(bench_json_first_member(bench_json_next(&rest), &name, &value));
    assert_str(name, "\"2\"");
    assert_str(value, "\"a, ]\"");
    assert_true(bench_json_first_member(bench_json_next(&rest), &name, &value));
    assert_str(name, "\"3\"");
    assert_str(value, "\"b\\\\\"");
    assert_null(bench_json_next(&rest).at);
    rest = STR("[]");
    assert_true(bench_json_enter_array(&rest));
    assert_null(bench_json_next(&rest).at);
    rest = STR("null");
    assert_false(bench_json_enter_array(&rest));
}

static void quantiles_are_measured_values(void **state)
{
    struct bench_samples samples = {0};
    assert_int_equal(bench_samples_quantile(&samples, 0.5), 0);
    for (int i = 10000; i >= 1; i--)
        bench_samples_put(&samples, i - 50);
    bench_samples_sort(&samples);
    assert_int_equal(bench_samples_quantile(&samples, 0), -49);
    assert_int_equal(bench_samples_quantile(&samples, 0.5), 4950);
    assert_int_equal(bench_samples_quantile(&samples, 0.99), 9850);
    assert_int_equal(bench_samples_quantile(&samples, 1), 9950);
    bench_samples_fini(&samples);
}

static uint16_t port_of(const struct bench_target *target)
{
    if (target->address.ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)&target->address)->sin_port);
    return ntohs(((const struct sockaddr_in6 *)&target->address)->sin6_port);
}

static void urls_are_taken_apart(void **state)
{
    struct bench_target target;
    char reason[400];
    assert_true(
        bench_target_parse(STR("http://127.0.0.1:8080/base/"), &target, reason, sizeof reason));
    assert_string_equal(target.host, "127.0.0.1:8080");
    assert_string_equal(target.prefix, "/base");
    assert_int_equal(port_of(&target), 8080);
    assert_true(target.is_loopback && target.is_local);
    assert_true(bench_target_parse(STR("http://[2001:db8::1]:81"), &target, reason, sizeof reason));
    assert_int_equal(port_of(&target), 81);
    assert_false(target.is_loopback || target.is_local);
    assert_true(bench_target_parse(STR("http://192.0.2.7"), &target, reason, sizeof reason));
    assert_int_equal(port_of(&target), 80);
    assert_false(target.is_loopback || target.is_local);
    static const char *const wrong[] = {"",
                                        "https://x",
                                        "http://",
                                        "http://:80",
                                        "http://127.0.0.1:0",
                                        "127.0.0.1",
                                        "http://[::1",
                                        "http://127.0.0.1:x",
                                        "http://127.0.0.1:1?a",
                                        "http://a b",
                                        "http://[::1]80"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(bench_target_parse(str_of(wrong[i]), &target, reason, sizeof reason));
}

/* A child that listens and works a little, to be found and measured. */
static pid_t start_listener(struct sockaddr_storage *ret_address)
{
    int ready[2], fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    getsockname(fd, (struct sockaddr *)&address, &size);
    memcpy(ret_address, &address, sizeof address);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        for (volatile unsigned long i = 0; i < 100000000; i++)
            continue;
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    char byte;
    close(fd);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void processes_are_found_by_their_port_and_measured(void **state)
{
    struct sockaddr_storage address;
    pid_t pid = start_listener(&address);
    struct bench_proc_group group = {0}, parsed = {0}, redis = {0};
    bench_proc_find_listeners(&group, &address);
    assert_int_equal(group.n, 1);
    assert_int_equal(group.pids[0], pid);
    assert_true(bench_proc_cpu_s(&group) > 0);
    assert_true(bench_proc_resident_bytes(&group) > 65536);
    assert_true(bench_proc_spent_s(&group, 0) > 0);
    bench_proc_find_redis(&redis, &group);
    assert_int_equal(redis.n, 0);
    char text[32];
    snprintf(text, sizeof text, "%d, %d", (int)pid, (int)getpid());
    assert_true(bench_proc_group_parse(&parsed, str_of(text)));
    assert_int_equal(parsed.n, 2);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_true(bench_proc_cpu_s(&group) < 0); /* nothing is known of one that has ended */
    assert_true(bench_proc_spent_s(&group, 0) < 0);
    assert_false(bench_proc_group_parse(&parsed, str_of(text)));
    assert_false(bench_proc_group_parse(&parsed, STR("x")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_response_is_whole_only_with_its_last_byte),
        cmocka_unit_test(a_response_says_when_it_is_the_last),
        cmocka_unit_test(what_is_not_http_is_broken),
        cmocka_unit_test(members_are_found_at_the_top_only),
        cmocka_unit_test(a_claim_is_walked_row_by_row),
        cmocka_unit_test(quantiles_are_measured_values),
        cmocka_unit_test(urls_are_taken_apart),
        cmocka_unit_test(processes_are_found_by_their_port_and_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
