/* SPDX-License-Identifier: MIT
 * test_http_rebinding.c - a name that resolves to a public address first and to a private one the
 * next time: the client checks what it connects to, not the name. The test has a network and an
 * /etc/hosts of its own, in namespaces; where those are forbidden, it is skipped. */
#include "shared/http/client/client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

static const char hosts[] = "/tmp/parley-hosts";
static bool is_apart;
static int listener, port;
static pthread_t thread;
static unsigned request_n;

static bool put_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
    if (fd >= 0)
        close(fd);
    return n == (ssize_t)strlen(text);
}

/* Gives the loopback interface a second address, which counts as public. */
static bool set_address(const char *name, const char *address)
{
    struct ifreq request = {0};
    struct sockaddr_in *at = (struct sockaddr_in *)(void *)&request.ifr_addr;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    at->sin_family = AF_INET;
    bool is_good =
        inet_pton(AF_INET, address, &at->sin_addr) == 1 && ioctl(fd, SIOCSIFADDR, &request) == 0;
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    is_good = is_good && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    close(fd);
    return is_good;
}

static bool live_apart(void)
{
    char map[64];
    unsigned uid = getuid(), gid = getgid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) != 0)
        return false;
    snprintf(map, sizeof map, "0 %u 1", uid);
    if (!put_file("/proc/self/setgroups", "deny") || !put_file("/proc/self/uid_map", map))
        return false;
    snprintf(map, sizeof map, "0 %u 1", gid);
    return put_file("/proc/self/gid_map", map) && set_address("lo", "127.0.0.1") &&
           set_address("lo:1", "11.0.0.1") &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", "/tmp", "tmpfs", 0, NULL) == 0 && put_file(hosts, "") &&
           mount(hosts, "/etc/hosts", NULL, MS_BIND, NULL) == 0;
}

static void *serve(void *context)
{
    static const char answer[] =
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
    int fd;
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        char bytes[1024];
        if (read(fd, bytes, sizeof bytes) > 0) {
            request_n++;
            (void)!write(fd, answer, sizeof answer - 1);
        }
        close(fd);
    }
    return context;
}

static int set_up(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    is_apart = live_apart();
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 16) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        return -1;
    port = ntohs(address.sin_port);
    return pthread_create(&thread, NULL, serve, NULL);
}

static int tear_down(void **state)
{
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    return close(listener);
}

struct result {
    bool is_done;
    enum http_outcome outcome;
};

static void on_done(void *context, const struct http_response *response)
{
    *(struct result *)context = (struct result){true, response->outcome};
}

/* A client of its own, because libcurl remembers names for a minute. */
static enum http_outcome get(const char *name)
{
    static const struct http_events events = {.on_done = on_done};
    struct http_client *client =
        http_client_create(&(struct http_client_settings){.is_refusing_private = true});
    struct result result = {false, HTTP_OUTCOME_NR};
    char url[128];
    snprintf(url, sizeof url, "http://%s:%d/", name, port);
    struct http_request request = {.url = url, .timeout_ms = 60000};
    (void)!http_call_start(client, &request, &events, &result);
    while (!result.is_done)
        http_client_wait(client, 50);
    http_client_destroy(client);
    return result.outcome;
}

static void a_name_that_turns_private_is_refused(void **state)
{
    if (!is_apart)
        skip();
    assert_true(put_file(hosts, "11.0.0.1 agent.example\n"));
    assert_int_equal(get("agent.example"), HTTP_ANSWERED);
    assert_int_equal(request_n, 1);
    assert_true(put_file(hosts, "127.0.0.1 agent.example\n"));
    assert_int_equal(get("agent.example"), HTTP_REFUSED_PEER);
    assert_true(put_file(hosts, "11.0.0.1 agent.example\n"));
    assert_int_equal(get("agent.example"), HTTP_ANSWERED);
    assert_int_equal(request_n, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_name_that_turns_private_is_refused)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
