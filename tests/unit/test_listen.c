/* SPDX-License-Identifier: MIT
 * test_listen.c - shared/http/wire/listen.h: who may share an address, and with whom. Paths and
 * whole processes are in tests/http/listen.test.mjs. */
#include "shared/http/wire/listen.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREAD_N = 4, CLIENT_N = 200 };

static struct listen_place place;
static char reason[256];

static void address_of_place(char *ret_text, size_t size)
{
    snprintf(ret_text, size, "127.0.0.1:%d", place.port);
}

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_addr = {htonl(INADDR_LOOPBACK)},
                                .sin_port = htons((uint16_t)port)};
}

static void close_all(const int *fds, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        close(fds[i]);
}

static void each_thread_gets_connections_of_the_one_port(void **state)
{
    int fds[THREAD_N], clients[CLIENT_N];
    unsigned got[THREAD_N] = {0}, all = 0;
    assert_true(listen_open("127.0.0.1:0", THREAD_N, fds, &place, reason, sizeof reason));
    struct sockaddr_in address = loopback(place.port);
    for (unsigned i = 0; i < CLIENT_N; i++) {
        clients[i] = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(connect(clients[i], (struct sockaddr *)&address, sizeof address), 0);
    }
    for (unsigned i = 0; i < THREAD_N; i++)
        for (int fd; (fd = accept(fds[i], NULL, NULL)) >= 0; got[i]++, all++)
            close(fd);
    assert_int_equal(all, CLIENT_N);
    for (unsigned i = 0; i < THREAD_N; i++)
        assert_true(got[i] > 0);
    close_all(clients, CLIENT_N);
    close_all(fds, THREAD_N);
}

static void a_second_set_is_refused_whatever_the_numbers_of_threads(void **state)
{
    for (unsigned first = 1; first <= THREAD_N; first += THREAD_N - 1)
        for (unsigned second = 1; second <= THREAD_N; second += THREAD_N - 1) {
            int fds[THREAD_N], more[THREAD_N];
            char address[32];
            struct listen_place other = {.port = -1};
            assert_true(listen_open("127.0.0.1:0", first, fds, &place, reason, sizeof reason));
            address_of_place(address, sizeof address);
            assert_false(listen_open(address, second, more, &other, reason, sizeof reason));
            assert_non_null(strstr(reason, "address in use"));
            assert_int_equal(other.port, -1);
            close_all(fds, first);
            assert_true(listen_open(address, second, more, &other, reason, sizeof reason));
            close_all(more, second);
        }
}

static void a_port_that_another_program_shares_is_refused(void **state)
{
    int one = 1, fds[THREAD_N], other = socket(AF_INET, SOCK_STREAM, 0);
    char text[32];
    struct sockaddr_in address = loopback(0);
    socklen_t n = sizeof address;
    assert_int_equal(setsockopt(other, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one), 0);
    assert_int_equal(bind(other, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(other, 1), 0);
    assert_int_equal(getsockname(other, (struct sockaddr *)&address, &n), 0);
    snprintf(text, sizeof text, "127.0.0.1:%d", ntohs(address.sin_port));
    assert_false(listen_open(text, THREAD_N, fds, &place, reason, sizeof reason));
    assert_non_null(strstr(reason, "address in use"));
    close(other);
}

static void what_is_no_address_is_refused_with_a_reason(void **state)
{
    static const char *const bad[] = {"", "8080", "localhost", "127.0.0.1:port",
                                      "no-such-host.invalid:1"};
    int fd;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        reason[0] = 0;
        assert_false(listen_open(bad[i], 1, &fd, &place, reason, sizeof reason));
        assert_true(reason[0] != 0);
    }
    char path[300] = "unix:/";
    memset(path + 6, 'x', sizeof path - 7);
    assert_false(listen_open(path, 1, &fd, &place, reason, sizeof reason));
    assert_non_null(strstr(reason, "longer than"));
    assert_false(listen_open("unix:/no/such/folder/s", 1, &fd, &place, reason, sizeof reason));
    assert_non_null(strstr(reason, "/no/such/folder"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_gets_connections_of_the_one_port),
        cmocka_unit_test(a_second_set_is_refused_whatever_the_numbers_of_threads),
        cmocka_unit_test(a_port_that_another_program_shares_is_refused),
        cmocka_unit_test(what_is_no_address_is_refused_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
