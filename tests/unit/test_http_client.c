/* SPDX-License-Identifier: MIT
 * test_http_client.c - the HTTP client, and endpoints on it, against a server on a thread: on its
 * own and on our loop. */
#include "shared/http/client/endpoint.h"
#include "shared/http/client/private_address.h"
#include "shared/op/loop.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static int listener;
static char base[64];
static pthread_t server;

static void write_all(int fd, const char *text)
{
    for (size_t n = strlen(text), done = 0; done < n;) {
        ssize_t wrote = write(fd, text + done, n - done);
        if (wrote <= 0)
            return;
        done += (size_t)wrote;
    }
}

/* One request per connection; the path says how to answer. */
static void serve(int fd)
{
    char request[8192];
    ssize_t n = read(fd, request, sizeof request - 1);
    if (n <= 0)
        return;
    request[n] = 0;
    if (strncmp(request, "GET /plain", 10) == 0) {
        write_all(fd, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n"
                      "Connection: close\r\n\r\nhello");
    } else if (strncmp(request, "POST /echo", 10) == 0) {
        const char *body = strstr(request, "\r\n\r\n") + 4;
        char answer[9000];
        snprintf(answer, sizeof answer,
                 "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: %zu\r\n"
                 "Connection: close\r\n\r\n%s",
                 strlen(body), body);
        write_all(fd, answer);
    } else if (strncmp(request, "POST /v1/whole", 14) == 0) {
        char answer[9000];
        snprintf(answer, sizeof answer,
                 "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
                 strlen(request), request);
        write_all(fd, answer);
    } else if (strncmp(request, "GET /gzip", 9) == 0) {
        static const char hello[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9"
                                    "\x07\x00\x86\xa6\x10\x36\x05\x00\x00\x00";
        write_all(fd, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n");
        (void)!write(fd, hello, sizeof hello - 1);
    } else if (strncmp(request, "GET /marked", 11) == 0) {
        write_all(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\xef\xbb\xbfhello");
    } else if (strncmp(request, "GET /cut", 8) == 0) {
        write_all(fd, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nonly this");
    } else if (strncmp(request, "GET /moved", 10) == 0) {
        write_all(fd, "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n"
                      "Content-Length: 0\r\nConnection: close\r\n\r\n");
    } else if (strncmp(request, "GET /big", 8) == 0) {
        write_all(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        for (int i = 0; i < 100; i++)
            write_all(fd, "0123456789012345678901234567890123456789");
    } else { /* /never: until the client leaves */
        n = read(fd, request, sizeof request);
    }
}

static void *run_server(void *context)
{
    int fd;
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        serve(fd);
        close(fd);
    }
    return NULL;
}

static int set_up(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    unsetenv("http_proxy");
    signal(SIGPIPE, SIG_IGN);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 16) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        return -1;
    snprintf(base, sizeof base, "http://127.0.0.1:%d", ntohs(address.sin_port));
    return pthread_create(&server, NULL, run_server, NULL);
}

static int tear_down(void **state)
{
    shutdown(listener, SHUT_RDWR);
    pthread_join(server, NULL);
    return close(listener);
}

struct result {
    int done_n;
    enum http_outcome outcome;
    int status;
    uint64_t retry_after_s;
    char body[8192];
    size_t streamed;
};

static void on_done(void *context, const struct http_response *response)
{
    struct result *result = context;
    result->done_n++;
    result->outcome = response->outcome;
    result->status = response->status;
    result->retry_after_s = response->retry_after_s;
    snprintf(result->body, sizeof result->body, "%.*s", STR_ARG(response->body));
}

static bool on_body(void *context, struct str type, struct str bytes)
{
    struct result *result = context;
    result->streamed += bytes.n;
    return result->streamed < 1000;
}

static const struct http_events events = {.on_done = on_done};

static void fetch_with(struct http_client *client, const char *path, struct str body,
                       uint64_t timeout_ms, size_t max, struct result *result)
{
    char url[128];
    snprintf(url, sizeof url, "%s%s", path[0] == '/' ? base : "", path);
    struct http_request request = {
        .url = url, .body = body, .timeout_ms = timeout_ms, .body_max_bytes = max};
    *result = (struct result){0};
    struct http_call *call = http_call_start(client, &request, &events, result);
    assert_non_null(call);
    assert_int_equal(result->done_n, 0);
    while (result->done_n == 0)
        http_client_wait(client, 100);
    assert_int_equal(result->done_n, 1);
}

static void every_outcome_is_reported_once(void **state)
{
    struct http_client *client = http_client_create(NULL);
    struct result result;
    static const struct str none = {NULL, 0};
    fetch_with(client, "/plain", none, 0, 0, &result);
    assert_int_equal(result.outcome, HTTP_ANSWERED);
    assert_int_equal(result.status, 200);
    assert_string_equal(result.body, "hello");
    fetch_with(client, "/echo", STR("{\"a\":1}"), 5000, 0, &result);
    assert_int_equal(result.status, 503);
    assert_int_equal(result.retry_after_s, 7);
    assert_string_equal(result.body, "{\"a\":1}");
    fetch_with(client, "/gzip", none, 0, 0, &result);
    assert_int_equal(result.outcome, HTTP_ANSWERED);
    assert_string_equal(result.body, "hello");
    fetch_with(client, "/marked", none, 0, 0, &result);
    assert_string_equal(result.body, "hello");
    fetch_with(client, "/cut", none, 0, 0, &result);
    assert_int_equal(result.outcome, HTTP_LOST);
    fetch_with(client, "/moved", none, 0, 0, &result);
    assert_int_equal(result.outcome, HTTP_ANSWERED);
    assert_int_equal(result.status, 302);
    fetch_with(client, "/big", none, 0, 1000, &result);
    assert_int_equal(result.outcome, HTTP_TOO_LARGE);
    fetch_with(client, "/never", none, 200, 0, &result);
    assert_int_equal(result.outcome, HTTP_TIMED_OUT);
    fetch_with(client, "file:///etc/passwd", none, 0, 0, &result);
    assert_int_equal(result.outcome, HTTP_BAD_URL);
    fetch_with(client, "http://127.0.0.1:1/x", none, 0, 0, &result);
    assert_int_equal(result.outcome, HTTP_UNREACHABLE);
    http_client_destroy(client);
}

static void a_body_may_be_taken_in_pieces_and_stopped(void **state)
{
    static const struct http_events streaming = {.on_body = on_body, .on_done = on_done};
    struct http_client *client = http_client_create(NULL);
    char url[128];
    struct result result = {0};
    snprintf(url, sizeof url, "%s/big", base);
    struct http_request request = {.url = url};
    struct http_call *call = http_call_start(client, &request, &streaming, &result);
    assert_non_null(call);
    while (result.done_n == 0)
        http_client_wait(client, 100);
    assert_int_equal(result.outcome, HTTP_STOPPED);
    assert_true(result.streamed >= 1000);
    assert_string_equal(result.body, "");
    http_client_destroy(client);
}

static void a_cancelled_call_says_nothing(void **state)
{
    struct http_client *client = http_client_create(NULL);
    char url[128];
    struct result result = {0};
    snprintf(url, sizeof url, "%s/never", base);
    struct http_request request = {.url = url};
    http_call_cancel(http_call_start(client, &request, &events, &result)); /* before it was sent */
    struct http_call *call = http_call_start(client, &request, &events, &result);
    for (int i = 0; i < 5; i++)
        http_client_wait(client, 10);
    http_call_cancel(call);
    http_call_cancel(NULL);
    for (int i = 0; i < 5; i++)
        http_client_wait(client, 10);
    call = http_call_start(client, &request, &events, &result); /* ended by destroy */
    http_client_wait(client, 10);
    assert_non_null(call);
    http_client_destroy(client);
    assert_int_equal(result.done_n, 0);
}

static void it_runs_on_a_loop(void **state)
{
    static struct loop loop; /* libh2o cannot free it */
    loop_init(&loop);
    struct http_client *client = http_client_create(NULL);
    struct result results[8] = {{0}};
    char url[128];
    http_client_attach(client, &loop);
    for (int round = 0; round < 2; round++) {
        snprintf(url, sizeof url, "%s/plain", base);
        struct http_request request = {.url = url, .timeout_ms = 5000};
        int done = 0;
        for (int i = 0; i < 8; i++) {
            results[i] = (struct result){0};
            assert_non_null(http_call_start(client, &request, &events, &results[i]));
        }
        for (int turn = 0; done < 8 && turn < 1000; turn++) {
            loop_run_once(&loop, 100);
            done = 0;
            for (int i = 0; i < 8; i++)
                done += results[i].done_n;
        }
        for (int i = 0; i < 8; i++)
            assert_string_equal(results[i].body, "hello");
    }
    http_client_destroy(client);
    loop_run_once(&loop, 0);
    loop_fini(&loop);
}

static void private_addresses_are_refused(void **state)
{
    static const struct http_client_settings settings = {.is_refusing_private = true};
    struct http_client *client = http_client_create(&settings);
    struct result result;
    static const struct str none = {NULL, 0};
    fetch_with(client, "/plain", none, 5000, 0, &result);
    assert_int_equal(result.outcome, HTTP_REFUSED_PEER);
    http_client_destroy(client);
    static const struct {
        const char *text;
        bool is_private;
    } cases[] = {{"127.0.0.1", true},
                 {"10.1.2.3", true},
                 {"172.16.0.1", true},
                 {"172.32.0.1", false},
                 {"192.168.1.1", true},
                 {"169.254.169.254", true},
                 {"100.64.0.1", true},
                 {"100.128.0.1", false},
                 {"0.0.0.0", true},
                 {"8.8.8.8", false},
                 {"224.0.0.1", true},
                 {"::1", true},
                 {"::", true},
                 {"fe80::1", true},
                 {"fd00::1", true},
                 {"::ffff:10.0.0.1", true},
                 {"::ffff:8.8.8.8", false},
                 {"64:ff9b::7f00:1", true},
                 {"2002:7f00:1::", true},
                 {"2606:4700::1111", false},
                 {"2001:db8::1", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char address[16];
        int family = strchr(cases[i].text, ':') != NULL ? AF_INET6 : AF_INET;
        assert_int_equal(inet_pton(family, cases[i].text, address), 1);
        if (http_address_is_private(family, address) != cases[i].is_private)
            fail_msg("%s", cases[i].text);
    }
}

static void post_to(const struct http_endpoint *endpoint, const char *const *headers,
                    struct result *result)
{
    struct http_client *client = http_client_create(NULL);
    struct http_request request = {.headers = headers, .body = STR("{}"), .timeout_ms = 5000};
    *result = (struct result){0};
    assert_non_null(http_endpoint_post(endpoint, client, &request, &events, result));
    while (result->done_n == 0)
        http_client_wait(client, 100);
    http_client_destroy(client);
    assert_int_equal(result->outcome, HTTP_ANSWERED);
    assert_int_equal(result->status, 200);
}

static void an_endpoint_adds_its_path_its_key_and_one_header(void **state)
{
    static const char *const headers[] = {"traceparent: 00-1", NULL};
    char url[128];
    struct http_endpoint endpoint;
    struct result result;
    snprintf(url, sizeof url, "%s/v1//", base);
    http_endpoint_init(&endpoint, url, "/whole", "key");
    post_to(&endpoint, headers, &result);
    assert_non_null(strstr(result.body, "POST /v1/whole HTTP"));
    assert_non_null(strstr(result.body, "Content-Type: application/json\r\n"));
    assert_non_null(strstr(result.body, "Authorization: Bearer key\r\n"));
    assert_non_null(strstr(result.body, "traceparent: 00-1\r\n"));
    assert_null(strstr(result.body, "Accept-Encoding"));
    assert_non_null(strstr(result.body, "\r\n\r\n{}"));
    http_endpoint_fini(&endpoint);
    http_endpoint_init(&endpoint, url, "/whole", NULL);
    post_to(&endpoint, NULL, &result);
    assert_null(strstr(result.body, "Authorization"));
    http_endpoint_fini(&endpoint);
    http_endpoint_fini(&endpoint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_outcome_is_reported_once),
        cmocka_unit_test(a_body_may_be_taken_in_pieces_and_stopped),
        cmocka_unit_test(a_cancelled_call_says_nothing),
        cmocka_unit_test(it_runs_on_a_loop),
        cmocka_unit_test(private_addresses_are_refused),
        cmocka_unit_test(an_endpoint_adds_its_path_its_key_and_one_header),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
