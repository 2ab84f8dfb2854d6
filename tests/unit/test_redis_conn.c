/* SPDX-License-Identifier: MIT
 * test_redis_conn.c - shared/redis/conn.h: a server that closes a connection before its greeting
 * was written, and how long replies are read. */
#include "shared/redis/conn.h"

#include <hiredis/hiredis.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum { TIMES = 20, LONG_BYTES = 96 << 10, READ_BYTES = 16 << 10 /* by hiredis at a time */ };

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
    const struct redis_conn_config config = {
        .address = &address, .name = "test", .on_connect = never, .on_lost = never};
    for (unsigned i = 0; i < TIMES; i++) {
        struct redis_conn *conn = redis_conn_create(&loop, &config);
        refuse_one(); /* before the loop knows of the connection */
        turn_a_moment();
        turn_a_moment();
        redis_conn_destroy(conn);
    }
}

static unsigned connected_n;

static void on_connect(void *arg)
{
    connected_n++;
}

static void on_lost(void *arg)
{
}

static void expect_bytes(int fd, size_t n)
{
    char bytes[4096];
    while (n > 0) {
        ssize_t got = read(fd, bytes, n < sizeof bytes ? n : sizeof bytes);
        assert_true(got > 0);
        n -= (size_t)got;
    }
}

/* Answers the greeting: CLIENT SETNAME test, SELECT 0. */
static int greet_one(void)
{
    static const char greeting[] = "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$4\r\ntest\r\n"
                                   "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n";
    int fd = accept(listener, NULL, NULL);
    assert_true(fd >= 0);
    for (unsigned i = 0; i < 8; i++)
        loop_run_once(&loop, 1);
    expect_bytes(fd, sizeof greeting - 1);
    assert_int_equal(write(fd, "+OK\r\n+OK\r\n", 10), 10);
    while (connected_n == 0)
        loop_run_once(&loop, 1000);
    return fd;
}

static struct redis_conn *reset_by; /* resets this one; NULL: nobody does */
static size_t replied_bytes;

static void on_long_reply(void *arg, const redisReply *reply)
{
    if (reply != NULL)
        replied_bytes += (size_t)reply->len;
    if (reset_by != NULL && reply != NULL)
        redis_conn_reset(reset_by, "a callback resets it");
}

static void put_long_reply(int fd)
{
    static char reply[LONG_BYTES + 32];
    size_t n = (size_t)snprintf(reply, sizeof reply, "$%d\r\n", LONG_BYTES);
    memset(reply + n, 'x', LONG_BYTES);
    memcpy(reply + n + LONG_BYTES, "\r\n", 2);
    assert_int_equal(write(fd, reply, n + LONG_BYTES + 2), (ssize_t)(n + LONG_BYTES + 2));
}

/* Otherwise each part of it would wait for all else that the loop does. */
static void a_reply_that_is_there_is_read_in_one_turn_of_the_loop(void **state)
{
    const struct redis_conn_config config = {
        .address = &address, .name = "test", .on_connect = on_connect, .on_lost = on_lost};
    struct str ping[] = {STR("PING")};
    for (unsigned resets = 0; resets < 2; resets++) {
        connected_n = 0;
        replied_bytes = 0;
        struct redis_conn *conn = redis_conn_create(&loop, &config);
        int fd = greet_one();
        reset_by = resets ? conn : NULL;
        assert_int_equal(redis_conn_command(conn, on_long_reply, NULL, ping, 1), ERR_OK);
        redis_conn_flush(conn);
        put_long_reply(fd);
        for (unsigned i = 0; i < LONG_BYTES / READ_BYTES / 2; i++)
            loop_run_once(&loop, 0);
        assert_int_equal(replied_bytes, LONG_BYTES);
        redis_conn_destroy(conn);
        close(fd);
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
        cmocka_unit_test(a_reply_that_is_there_is_read_in_one_turn_of_the_loop),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
