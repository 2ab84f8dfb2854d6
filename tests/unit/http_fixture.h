/* SPDX-License-Identifier: MIT
 *
 * http_fixture: a real server on a thread of its own, with the routes of a test, and a bare socket
 * to talk to it. One per test program; it runs until the program ends, since libh2o 2.2 cannot be
 * taken down. Routes have no roles: there is no Redis behind it. Waits are bounded by WAIT_S and
 * fail.
 */
#ifndef PARLEY_TESTS_UNIT_HTTP_FIXTURE_H
#define PARLEY_TESTS_UNIT_HTTP_FIXTURE_H

#include "shared/http/request/respond.h"
#include "shared/http/request/server.h"
#include "shared/http/server/server_run.h"
#include "shared/http/wire/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { WAIT_S = 20 };

static struct fixture {
    struct loop loop;
    struct server server;
    struct metrics metrics;
    int port;
    pthread_t thread;
    void (*job)(void *arg);
    void *arg;
    sem_t done;
} fixture;

static void *fixture_run_loop(void *arg)
{
    loop_run(&fixture.loop);
    return arg;
}

static void fixture_on_wake(void *arg)
{
    (void)arg;
    if (fixture.job == NULL)
        return;
    void (*job)(void *) = fixture.job;
    fixture.job = NULL;
    job(fixture.arg);
    sem_post(&fixture.done);
}

/* Runs `job` on the loop's thread and returns once it ran. */
static inline void fixture_do(void (*job)(void *arg), void *arg)
{
    fixture.arg = arg;
    fixture.job = job;
    loop_wake(&fixture.loop);
    while (sem_wait(&fixture.done) != 0)
        ;
}

static inline void fixture_start(const struct server_config *config, const struct route *routes)
{
    static const struct route *tables[2];
    char reason[128];
    tables[0] = routes;
    signal(SIGPIPE, SIG_IGN);
    sem_init(&fixture.done, 0, 0);
    loop_init(&fixture.loop);
    metrics_register(&fixture.metrics);
    fixture.loop.on_wake = fixture_on_wake;
    server_init(&fixture.server, &fixture.loop, config, NULL, &fixture.metrics, tables, "n1");
    struct listen_place place;
    int fd;
    assert_true(listen_open("127.0.0.1:0", 1, &fd, &place, reason, sizeof reason));
    fixture.port = place.port;
    server_start(&fixture.server, fd, NULL);
    assert_int_equal(pthread_create(&fixture.thread, NULL, fixture_run_loop, NULL), 0);
}

static inline int fixture_connect(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {htonl(INADDR_LOOPBACK)},
                                  .sin_port = htons((uint16_t)fixture.port)};
    struct timeval wait = {.tv_sec = WAIT_S};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static inline void fixture_write(int fd, const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t wrote = send(fd, (const char *)bytes + done, n - done, MSG_NOSIGNAL);
        assert_true(wrote > 0);
        done += (size_t)wrote;
    }
}

/* Reads exactly `n` bytes; false when the other end closed first. */
static inline bool fixture_read(int fd, void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = recv(fd, (char *)bytes + done, n - done, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == ECONNRESET)
            return false;
        assert_true(got >= 0); /* else: nothing came in WAIT_S */
        if (got == 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* Reads a head up to its empty line, NUL-ended. */
static inline void fixture_read_head(int fd, char *head, size_t size)
{
    size_t n = 0;
    while (n < 4 || memcmp(head + n - 4, "\r\n\r\n", 4) != 0) {
        assert_true(n + 1 < size);
        assert_true(fixture_read(fd, head + n, 1));
        n++;
    }
    head[n] = 0;
}

/* Sends one request on a connection of its own and puts all that comes back into `response`. */
static inline int fixture_ask(const char *request, char *response, size_t size)
{
    int fd = fixture_connect(), status = 0;
    size_t n = 0;
    fixture_write(fd, request, strlen(request));
    while (n + 1 < size && fixture_read(fd, response + n, 1))
        n++;
    response[n] = 0;
    close(fd);
    assert_int_equal(sscanf(response, "HTTP/1.1 %d", &status), 1);
    return status;
}

#endif
