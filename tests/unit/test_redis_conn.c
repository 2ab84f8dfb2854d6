/* SPDX-License-Identifier: MIT
 * test_redis_conn.c - shared/redis/conn.h: a server that closes a connection before its greeting
 * was written. */
#include "shared/redis/conn.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum { TIMES = 20 };

static struct loop loop;
static int listener;
static char folder[] = "/tmp/parley-conn-XXXXXX";
static struct redis_address address;

static void refuse_one(void)
{
    static const char line[] = "-ERR max number of clients reached\r\n";
    int fd = accept(listener, NULL, NULL);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, line, sizeof line - 1), (ssize_t)sizeof line - 1);
    close(fd);
}

static void never(void *arg)
{
    fail_msg("it was never connected");
}

static void on_moment_over(struct deadline *deadline)
{
    loop_finish(&loop);
}

static void turn_a_moment(void)
{
    struct deadline moment = {.on_expire = on_moment_over};
    loop_set_deadline(&loop, &moment, 1);
    loop.is_done = false;
    loop_run(&loop);
}

static void a_server_that_is_full_closes_before_the_greeting(void **state)
{
    const struct redis_events events = {.on_connect = never, .on_lost = never};
    for (unsigned i = 0; i < TIMES; i++) {
        struct redis_conn *conn = redis_conn_create(&loop, &address, "test", events);
        refuse_one(); /* before the loop knows of the connection */
        turn_a_moment();
        turn_a_moment();
        redis_conn_destroy(conn);
    }
}

static int set_up(void **state)
{
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    signal(SIGPIPE, SIG_IGN);
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(address.path, sizeof address.path, "%s/socket", folder);
    snprintf(place.sun_path, sizeof place.sun_path, "%s/socket", folder);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&place, sizeof place) != 0 ||
        listen(listener, 2 * TIMES) != 0)
        return -1;
    loop_init(&loop);
    return 0;
}

static int tear_down(void **state)
{
    loop_fini(&loop);
    close(listener);
    unlink(address.path);
    rmdir(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_is_full_closes_before_the_greeting),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
