/* SPDX-License-Identifier: MIT
 * test_bench.c - what `parley bench` reads and computes: responses whole, in pieces and chunked,
 * JSON members where they lie, streams of events and their texts, quantiles, URLs, processes. */
#include "services/bench/proc.h"
#include "services/bench/response.h"
#include "services/bench/samples.h"
#include "services/bench/target.h"
#include "services/bench/token_text.h"
#include "services/bench/viewer.h"

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

static void only_a_200_in_chunks_is_a_stream(void **state)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    static const char *const others[] = {
        "HTTP/1.1 503 x\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        "SSH-2.0-OpenSSH\r\n\r\n",
    };
    assert_int_equal(bench_response_stream_head(head, sizeof head - 1), sizeof head - 1);
    assert_int_equal(bench_response_stream_head(head, sizeof head - 2), 0);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(bench_response_stream_head(others[i], strlen(others[i])), 0);
}

static void a_chunk_is_whole_only_with_its_last_byte(void **state)
{
    static const char text[] = "b;x=y\r\ndata: {}\n\n.\r\n0\r\n\r\n";
    size_t first_n = sizeof text - 1 - strlen("0\r\n\r\n"), size;
    struct str data;
    for (size_t n = 0; n < first_n; n++)
        assert_int_equal(bench_response_chunk(text, n, &data, &size), BENCH_RESPONSE_PARTIAL);
    assert_int_equal(bench_response_chunk(text, sizeof text - 1, &data, &size),
                     BENCH_RESPONSE_WHOLE);
    assert_str(data, "data: {}\n\n.");
    assert_int_equal(size, first_n);
    assert_int_equal(bench_response_chunk(text + size, sizeof text - 1 - size, &data, &size),
                     BENCH_RESPONSE_WHOLE);
    assert_int_equal(data.n, 0);
    assert_int_equal(bench_response_chunk(STR("1\r\nab\r\n").at, 7, &data, &size),
                     BENCH_RESPONSE_BROKEN);
}

static void any_part_of_a_stream_is_known_by_itself(void **state)
{
    struct buf whole, part;
    buf_init(&whole, 4096);
    buf_init(&part, 4096);
    bench_token_text_put(&whole, 7, 0, 400);
    bench_token_text_put(&part, 7, 13, 101);
    assert_memory_equal(part.at, whole.at + 13, part.n);
    assert_true(bench_token_text_has(7, 13, buf_str(&part)));
    assert_false(bench_token_text_has(7, 17, buf_str(&part)));
    assert_false(bench_token_text_has(8, 13, buf_str(&part)));
    for (size_t i = 0; i < whole.n; i++)
        assert_true(i % BENCH_TOKEN_BYTES == BENCH_TOKEN_BYTES - 1
                        ? whole.at[i] == ' '
                        : whole.at[i] >= 'a' && whole.at[i] <= 'z');
    buf_fini(&whole);
    buf_fini(&part);
}

/* What a viewer reports, and its viewer. */
static struct watched {
    struct bench_viewer viewer;
    struct bench_faults faults;
    uint64_t new_bytes;
    unsigned open_n, done_n;
} watched;

static void on_open(struct bench_viewer *viewer)
{
    watched.open_n++;
}

static void on_text(struct bench_viewer *viewer, uint64_t from, uint64_t to)
{
    assert_true(from < to);
    watched.new_bytes += to - from;
}

static void on_done(struct bench_viewer *viewer)
{
    watched.done_n++;
}

/* Shows it `events`, in which %1 to %3 are 8 bytes each of the text of stream 3, cut after
 * `cut` bytes. */
static void show(const char *events, size_t cut)
{
    static const struct bench_viewer_events heard = {on_open, on_text, on_done};
    static const struct bench_target target;
    static const struct bench bench;
    static struct bench_conn_loop loop;
    struct buf b;
    buf_init(&b, 4096);
    for (const char *p = events; *p != 0; p++) {
        if (*p != '%') {
            buf_put_char(&b, *p);
            continue;
        }
        uint64_t piece = (uint64_t)(*++p - '1');
        bench_token_text_put(&b, 3, piece * 8, piece * 8 + 8);
    }
    watched = (struct watched){0};
    bench_viewer_init(&watched.viewer, &bench, NULL, &loop, &target, &heard, &watched.faults);
    watched.viewer.stream = 3;
    struct bench_conn *conn = &watched.viewer.worker.conn;
    conn->handler->on_part(conn, (struct str){b.at, cut < b.n ? cut : b.n});
    if (cut < b.n)
        conn->handler->on_part(conn, (struct str){b.at + cut, b.n - cut});
    bench_viewer_fini(&watched.viewer);
    buf_fini(&b);
}

#define TOKEN(id, text) "id: " id "\nevent: token\ndata: {\"text\":\"" text "\"}\n\n"
#define DONE "event: done\ndata: {\"Answer\":[]}\n\n"

static void a_viewer_reads_the_same_wherever_its_events_are_cut(void **state)
{
    static const char events[] =
        ": here\n\n" TOKEN("1-8", "%1") ": still here\n\n" TOKEN("1-24", "%2%3") DONE;
    for (size_t cut = 1; cut < sizeof events + 24; cut++) {
        show(events, cut);
        assert_false(watched.viewer.is_unequal);
        assert_int_equal(watched.open_n, 1);
        assert_int_equal(watched.done_n, 1);
        assert_int_equal(watched.new_bytes, 24);
        assert_int_equal(watched.viewer.offset, 24);
        assert_int_equal(watched.faults.errors, 0);
    }
}

static void a_viewer_that_has_something_else_is_not_equal(void **state)
{
    static const char *const others[] = {
        TOKEN("1-8", "%2"),                                 /* another text */
        TOKEN("1-8", "%1") TOKEN("1-16", "%1"),             /* the same once more */
        TOKEN("1-8", "%1") TOKEN("1-24", "%3"),             /* a gap */
        TOKEN("1-8", "%1") TOKEN("2-16", "%2"),             /* of another claim */
        TOKEN("1-16", "%1"),                                /* an id that is wrong */
        "event: token\ndata: {\"text\":\"%1\"}\n\n",        /* no id */
        "event: reset\ndata: {\"text\":\"%1%3\"}\n\n" DONE, /* not all of it */
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        show(others[i], SIZE_MAX);
        assert_true(watched.viewer.is_unequal);
    }
}

static void a_text_that_begins_again_counts_what_is_new(void **state)
{
    show(TOKEN("1-8", "%1") "event: reset\ndata: {\"text\":\"%1%2\"}\n\n" TOKEN("1-24", "%3"),
         SIZE_MAX);
    assert_false(watched.viewer.is_unequal);
    assert_int_equal(watched.new_bytes, 24);
    assert_int_equal(watched.viewer.reset_n, 1);
    show(TOKEN("1-8", "%1") "event: restart\ndata: {}\n\n" TOKEN("2-8", "%1"), SIZE_MAX);
    assert_false(watched.viewer.is_unequal);
    assert_int_equal(watched.viewer.offset, 8);
    assert_int_equal(watched.viewer.reset_n, 1);
}

static void a_stream_that_fails_is_an_error_and_not_done(void **state)
{
    show("event: error\ndata: {\"detail\":\"Not found.\"}\n\n", SIZE_MAX);
    assert_int_equal(watched.faults.errors, 1);
    assert_non_null(strstr(watched.faults.first, "Not found."));
    assert_int_equal(watched.done_n, 0);
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
        cmocka_unit_test(only_a_200_in_chunks_is_a_stream),
        cmocka_unit_test(a_chunk_is_whole_only_with_its_last_byte),
        cmocka_unit_test(any_part_of_a_stream_is_known_by_itself),
        cmocka_unit_test(a_viewer_reads_the_same_wherever_its_events_are_cut),
        cmocka_unit_test(a_viewer_that_has_something_else_is_not_equal),
        cmocka_unit_test(a_text_that_begins_again_counts_what_is_new),
        cmocka_unit_test(a_stream_that_fails_is_an_error_and_not_done),
        cmocka_unit_test(members_are_found_at_the_top_only),
        cmocka_unit_test(a_claim_is_walked_row_by_row),
        cmocka_unit_test(quantiles_are_measured_values),
        cmocka_unit_test(urls_are_taken_apart),
        cmocka_unit_test(processes_are_found_by_their_port_and_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
