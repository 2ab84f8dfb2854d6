/* SPDX-License-Identifier: MIT
 * test_workflow_agent_http.c - http agents against a server on a thread, which notes what it gets:
 * the request and its signature, and every way in which a server does not answer. */
#include "services/workflow/agents/agent.h"
#include "services/workflow/trees/trees.h"
#include "services/workflow/workflow.h"
#include "shared/http/client/client.h"
#include "shared/http/client/webhook.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int listener, port;
static pthread_t thread;
static char seen[300 << 10]; /* the last request, whole */
static unsigned request_n;
static size_t sent_bytes;

static bool write_all(int fd, const char *text)
{
    for (size_t n = strlen(text), done = 0; done < n;) {
        ssize_t wrote = write(fd, text + done, n - done);
        if (wrote <= 0)
            return false;
        done += (size_t)wrote;
    }
    return true;
}

static void read_request(int fd)
{
    size_t n = 0, want = SIZE_MAX;
    while (n < sizeof seen - 1 && n < want) {
        ssize_t got = read(fd, seen + n, sizeof seen - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
        seen[n] = 0;
        char *end = strstr(seen, "\r\n\r\n"), *length = strstr(seen, "Content-Length: ");
        if (end != NULL && length != NULL)
            want = (size_t)(end + 4 - seen) + strtoul(length + 16, NULL, 10);
    }
}

/* The path says how to answer. */
static void serve(int fd)
{
#define HEAD "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n"
    static const char yes[] =
        "{\"decision\":\"Yes\",\"confidence\":0.5,\"reason\":\"ok\",\"output\":{\"a\":1}}";
    read_request(fd);
    request_n++;
    if (strstr(seen, "POST /yes") == seen) {
        write_all(fd, HEAD);
        write_all(fd, yes);
    } else if (strstr(seen, "POST /html") == seen) {
        write_all(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\n\r\n"
                      "<html>Yes</html>");
    } else if (strstr(seen, "POST /maybe") == seen) {
        write_all(fd, HEAD "{\"decision\":\"maybe\",\"confidence\":0.5,\"reason\":\"r\"}");
    } else if (strstr(seen, "POST /moved") == seen) {
        char text[200];
        snprintf(text, sizeof text,
                 "HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:%d/yes\r\n"
                 "Content-Length: 0\r\nConnection: close\r\n\r\n",
                 port);
        write_all(fd, text);
    } else if (strstr(seen, "POST /large") == seen) {
        static char piece[(64 << 10) + 1];
        memset(piece, ' ', sizeof piece - 1);
        sent_bytes = 0;
        if (write_all(fd, HEAD))
            for (int i = 0; i < 1024 && write_all(fd, piece); i++)
                sent_bytes += sizeof piece - 1;
    } else if (strstr(seen, "POST /status/") == seen) {
        char text[100];
        snprintf(text, sizeof text,
                 "HTTP/1.1 %.3s X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                 seen + strlen("POST /status/"));
        write_all(fd, text);
    } else if (strstr(seen, "POST /silent") == seen) {
        char byte;
        (void)!read(fd, &byte, 1); /* until it leaves */
    }                              /* /cut: nothing */
}

static void *run_server(void *context)
{
    int fd;
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        serve(fd);
        close(fd);
    }
    return context;
}

static struct workflow workflow;
static struct server server;
static struct loop loop;

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
    port = ntohs(address.sin_port);
    server.loop = &loop;
    workflow.server = &server;
    workflow.client = http_client_create(NULL);
    return pthread_create(&thread, NULL, run_server, NULL);
}

static int tear_down(void **state)
{
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    http_client_destroy(workflow.client);
    deadlines_fini(&loop.deadlines);
    return close(listener);
}

/* ---- calling ---- */

struct result {
    int n;
    enum agent_outcome outcome;
    bool is_yes;
    double confidence;
    char reason[400];
    json_t *output;
};

static void on_end(void *context, const struct agent_result *got)
{
    struct result *result = context;
    result->n++;
    result->outcome = got->outcome;
    result->is_yes = got->is_yes;
    result->confidence = got->confidence;
    snprintf(result->reason, sizeof result->reason, "%.*s", STR_ARG(got->reason));
    result->output = json_incref(got->output);
}

static json_t *body;

static struct agent_task task_of(const struct agent_entry *agent)
{
    return (struct agent_task){.agent = agent,
                               .session = STR("0123456789abcdef0123456789abcdef"),
                               .run = 7,
                               .step = 3,
                               .attempt = 2,
                               .verb = STR("RULE"),
                               .body = body,
                               .traceparent = STR("00-a-b-01"),
                               .timeout_ms = 60000};
}

static struct result call_with(struct http_client *client, const char *url, const char *secret_file,
                               uint64_t timeout_ms)
{
    struct agent_entry agent = {.name = STR("check.stock"),
                                .type = AGENT_HTTP,
                                .url = str_of(url),
                                .secret_file = str_of(secret_file)};
    struct agent_task task = task_of(&agent);
    struct result result = {.n = 0};
    struct http_client *own = workflow.client;
    task.timeout_ms = timeout_ms;
    body = body == NULL ? json_pack("{s:s}", "raw_text", "Show patterns") : body;
    task.body = body;
    workflow.client = client;
    void *running = agent_http.start(&workflow, &task, on_end, &result);
    workflow.client = own;
    assert_non_null(running);
    assert_int_equal(result.n, 0);
    while (result.n == 0) {
        http_client_wait(client, 20);
        deadlines_run(&loop.deadlines, clock_mono_ms());
    }
    assert_int_equal(result.n, 1);
    assert_true(result.reason[0] != 0);
    return result;
}

static struct result call(const char *path)
{
    char url[128];
    snprintf(url, sizeof url, "http://127.0.0.1:%d%s", port, path);
    return call_with(workflow.client, url, NULL, 60000);
}

static void the_request_says_which_step_it_is(void **state)
{
    struct result result = call("/yes");
    assert_int_equal(result.outcome, AGENT_DECIDED);
    assert_true(result.is_yes);
    assert_true(result.confidence == 0.5);
    assert_string_equal(result.reason, "ok");
    assert_int_equal(json_integer_value(json_object_get(result.output, "a")), 1);
    json_decref(result.output);
    assert_non_null(strstr(seen, "Content-Type: application/json\r\n"));
    assert_non_null(strstr(seen, "Idempotency-Key: 0123456789abcdef0123456789abcdef-7-3-2\r\n"));
    assert_non_null(strstr(seen, "traceparent: 00-a-b-01\r\n"));
    assert_null(strstr(seen, "webhook-"));
    assert_string_equal(strstr(seen, "\r\n\r\n") + 4,
                        "{\"run\":\"0123456789abcdef0123456789abcdef.7\",\"step\":3,\"agent\":"
                        "\"check.stock\",\"verb\":\"RULE\",\"attempt\":2,\"messageBody\":{"
                        "\"raw_text\":\"Show patterns\"}}");
}

static void what_is_no_decision_is_a_bad_answer(void **state)
{
    static const struct {
        const char *path;
        enum agent_outcome outcome;
        const char *reason;
    } cases[] = {
        {"/html", AGENT_BAD_ANSWER, "not one JSON object"},
        {"/maybe", AGENT_BAD_ANSWER, "neither \"yes\" nor \"no\""},
        {"/large", AGENT_BAD_ANSWER, "larger than 64 KiB"},
        {"/moved", AGENT_REFUSED, "307, and redirects are not followed"},
        {"/status/400", AGENT_REFUSED, "400"},
        {"/status/404", AGENT_REFUSED, "404"},
        {"/status/408", AGENT_NO_ANSWER, "408"},
        {"/status/429", AGENT_NO_ANSWER, "429"},
        {"/status/503", AGENT_NO_ANSWER, "503"},
        {"/cut", AGENT_NO_ANSWER, "lost"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned before = request_n;
        struct result result = call(cases[i].path);
        assert_int_equal(result.outcome, cases[i].outcome);
        assert_non_null(strstr(result.reason, cases[i].reason));
        assert_null(result.output);
        assert_int_equal(request_n, before + 1); /* asked once, and nowhere else */
    }
    call("/large");
    json_decref(call("/yes").output); /* the server has ended the large answer */
    assert_true(sent_bytes < 64 << 20);
}

static void a_server_that_is_not_there_or_silent_has_not_answered(void **state)
{
    char url[128];
    struct result result = call_with(workflow.client, "http://127.0.0.1:1/", NULL, 60000);
    assert_int_equal(result.outcome, AGENT_NO_ANSWER);
    assert_non_null(strstr(result.reason, "unreachable"));
    snprintf(url, sizeof url, "http://127.0.0.1:%d/silent", port);
    result = call_with(workflow.client, url, NULL, 1);
    assert_int_equal(result.outcome, AGENT_NO_ANSWER);
    assert_non_null(strstr(result.reason, "timed out"));
    result = call_with(workflow.client, "http://[", NULL, 60000);
    assert_int_equal(result.outcome, AGENT_REFUSED);
}

static void a_cancelled_attempt_ends_without_a_word(void **state)
{
    char url[128];
    struct agent_entry agent = {.name = STR("a"), .type = AGENT_HTTP};
    struct result result = {.n = 0};
    snprintf(url, sizeof url, "http://127.0.0.1:%d/silent", port);
    agent.url = str_of(url);
    struct agent_task task = task_of(&agent);
    void *running = agent_http.start(&workflow, &task, on_end, &result);
    for (int i = 0; i < 10; i++)
        http_client_wait(workflow.client, 10);
    agent_http.cancel(running, true);
    running = agent_http.start(&workflow, &task, on_end, &result);
    agent_http.cancel(running, false);
    json_decref(call("/yes").output);
    assert_int_equal(result.n, 0);
}

static void a_private_address_is_refused_also_as_a_name(void **state)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost",  "[::ffff:127.0.0.1]",
                                        "0",         "2130706433", "169.254.169.254"};
    struct http_client *strict =
        http_client_create(&(struct http_client_settings){.is_refusing_private = true});
    unsigned before = request_n;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        for (int again = 0; again < 2; again++) {
            char url[128];
            snprintf(url, sizeof url, "http://%s:%d/yes", hosts[i], port);
            struct result result = call_with(strict, url, NULL, 60000);
            assert_int_equal(result.outcome, AGENT_REFUSED);
            assert_non_null(strstr(result.reason, "PARLEY_ALLOW_PRIVATE_ENDPOINTS=on"));
        }
    assert_int_equal(request_n, before);
    http_client_destroy(strict);
}

/* ---- signatures ---- */

static void header_of(const char *name, char *value, size_t size)
{
    const char *at = strstr(seen, name);
    assert_non_null(at);
    at += strlen(name) + 2;
    snprintf(value, size, "%.*s", (int)(strchr(at, '\r') - at), at);
}

static void a_secret_signs_the_request(void **state)
{
    char path[] = "/tmp/parley-secret-XXXXXX", url[128], id[100], time_text[40], signature[100];
    char expected[WEBHOOK_SIGNATURE_BYTES + 1];
    static const char secret[] = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n";
    struct webhook_key key;
    int fd = mkstemp(path);
    assert_int_equal(write(fd, secret, strlen(secret)), strlen(secret));
    close(fd);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/yes", port);
    struct result result = call_with(workflow.client, url, path, 60000);
    assert_int_equal(result.outcome, AGENT_DECIDED);
    json_decref(result.output);
    header_of("webhook-id", id, sizeof id);
    header_of("webhook-timestamp", time_text, sizeof time_text);
    header_of("webhook-signature", signature, sizeof signature);
    assert_string_equal(id, "0123456789abcdef0123456789abcdef-7-3-2");
    assert_true(webhook_read_secret(str_of(secret), &key));
    assert_int_equal(key.n, 32);
    webhook_sign(&key, str_of(id), strtoull(time_text, NULL, 10),
                 str_of(strstr(seen, "\r\n\r\n") + 4), expected);
    assert_string_equal(signature, expected);

    unsigned before = request_n; /* without a good secret nothing is sent */
    assert_int_equal(truncate(path, 10), 0);
    assert_int_equal(call_with(workflow.client, url, path, 60000).outcome, AGENT_REFUSED);
    unlink(path);
    assert_int_equal(call_with(workflow.client, url, path, 60000).outcome, AGENT_REFUSED);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(call_with(workflow.client, url, path, 60000).outcome, AGENT_REFUSED);
    unlink(path);
    assert_int_equal(request_n, before);
}

/* The key is that of the specification's example; the signature is OpenSSL's on the command line.
 */
static void a_signature_is_that_of_standard_webhooks(void **state)
{
    struct webhook_key key;
    char signature[WEBHOOK_SIGNATURE_BYTES + 1];
    assert_true(webhook_read_secret(STR("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), &key));
    assert_int_equal(key.n, 24);
    webhook_sign(&key, STR("msg_p5jXN8AQM9LWM0D4loKWxJek"), 1614265330,
                 STR("{\"test\": 2432232314}"), signature);
    assert_string_equal(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    static const char *const wrong[] = {"",
                                        "whsec_",
                                        "whsec_MfKQ",
                                        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
                                        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2La La!"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(webhook_read_secret(str_of(wrong[i]), &key));
}

static int end_body(void **state)
{
    json_decref(body);
    return tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_request_says_which_step_it_is),
        cmocka_unit_test(what_is_no_decision_is_a_bad_answer),
        cmocka_unit_test(a_server_that_is_not_there_or_silent_has_not_answered),
        cmocka_unit_test(a_cancelled_attempt_ends_without_a_word),
        cmocka_unit_test(a_private_address_is_refused_also_as_a_name),
        cmocka_unit_test(a_secret_signs_the_request),
        cmocka_unit_test(a_signature_is_that_of_standard_webhooks),
    };
    return cmocka_run_group_tests(tests, set_up, end_body);
}
