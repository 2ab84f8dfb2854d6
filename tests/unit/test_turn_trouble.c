/* SPDX-License-Identifier: MIT
 * test_turn_trouble.c - shared/redis/turn.h: a Redis that has lost the library, is full, refuses
 * writes, or says nothing any more. */
#include "tests/unit/turn_fixture.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

/* A host that went away without a word is noticed by the kernel, even where Parley only listens. */
static void a_connection_over_tcp_probes_a_silent_redis(void **state)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof name, option_size = sizeof(int);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), accepted, probes = 0, ms = 0;
    assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&name, &size), 0);
    struct redis_address address = {.port = ntohs(name.sin_port)};
    snprintf(address.host, sizeof address.host, "127.0.0.1");
    create(&address);
    while ((accepted = accept(listener, NULL, NULL)) < 0)
        run_once();
    while (recv(accepted, &ms, 1, MSG_PEEK | MSG_DONTWAIT) < 1)
        run_once();
    for (int fd = 3; fd < 1024 && probes == 0; fd++) {
        struct sockaddr_in peer = {.sin_port = 0};
        size = sizeof peer;
        if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0 || peer.sin_port != name.sin_port)
            continue;
        assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &probes, &option_size), 0);
        assert_int_equal(probes, 1);
        assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &probes, &option_size), 0);
        assert_in_range(probes, 1, 30);
        assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &option_size), 0);
        assert_in_range(ms, 1, 30000);
    }
    assert_int_not_equal(probes, 0);
    turn_destroy(turn);
    close(accepted);
    close(listener);
}

/* Redis's number for the turn's connection; 0: it has none. */
static uint64_t connection_id(void)
{
    ask_redis("CLIENT LIST");
    struct str rest = str_of(redis_said);
    while (rest.at != NULL) {
        struct str line = str_cut(&rest, '\n');
        if (str_has_prefix(line, STR("id=")) &&
            memmem(line.at, line.n, " name=parley-turn ", 18) != NULL)
            return strtoull(line.at + 3, NULL, 10);
    }
    return 0;
}

static void flush_library(void)
{
    ask_redis("FUNCTION FLUSH");
}

/* A Redis that lost the library refuses the batch, which waits for it to be loaded: the turn goes
 * at each step of that. */
static void
a_turn_that_is_destroyed_while_the_library_is_loaded_notifies_waiting_calls(void **state)
{
    for (unsigned round = 0; round < 18; round++) {
        create_with_redis();
        flush_library();
        struct owner *owner = begin_new();
        turn_flush(turn);
        for (unsigned steps = round % 6; steps > 0 && owner->told_n == 0; steps--)
            run_once();
        turn_destroy(turn);
        assert_int_equal(owner->told_n, 1);
        free(owner);
    }
}

static enum err run_verb(void)
{
    struct owner *owner = begin_new();
    run_until_answered();
    enum err error = owner->error;
    free(owner);
    return error;
}

static void an_outage_for_want_of_room_for_the_library_ends_with_on_up(void **state)
{
    flush_library();
    ask_redis("CONFIG SET maxmemory 1");
    create_with_redis();
    assert_int_equal(run_verb(), ERR_STORE_FULL);
    assert_int_equal(turn_trouble(turn), REDIS_NO_ROOM);
    assert_int_equal(up_n, 1);
    ask_redis("CONFIG SET maxmemory 0");
    assert_int_equal(run_verb(), ERR_OK);
    assert_int_equal(turn_trouble(turn), REDIS_FINE);
    assert_int_equal(up_n, 2);
    turn_destroy(turn);
}

static void an_outage_that_passes_into_a_full_redis_ends_with_on_up_then(void **state)
{
    create_with_redis();
    ask_redis("CONFIG SET min-replicas-to-write 1");
    assert_int_equal(run_verb(), ERR_STORE_READONLY);
    assert_int_equal(turn_trouble(turn), REDIS_NOREPLICAS);
    assert_int_equal(up_n, 1);
    ask_redis("CONFIG SET min-replicas-to-write 0 maxmemory 1");
    (void)run_verb();
    assert_int_equal(turn_trouble(turn), REDIS_FULL);
    assert_int_equal(up_n, 2);
    ask_redis("CONFIG SET maxmemory 0");
    assert_int_equal(run_verb(), ERR_OK);
    assert_int_equal(turn_trouble(turn), REDIS_FINE);
    assert_int_equal(up_n, 2);
    turn_destroy(turn);
}

/* Redis answers the greeting, and not FUNCTION LOAD, which is a write. */
static void a_connection_on_which_the_library_does_not_load_is_given_up(void **state)
{
    flush_library();
    ask_redis("CLIENT PAUSE 600000 WRITE");
    create(&redis_fixture.address);
    uint64_t first, next;
    while ((first = connection_id()) == 0)
        run_once();
    while ((next = connection_id()) == first || next == 0)
        run_once();
    assert_false(is_up);
    ask_redis("CLIENT UNPAUSE");
    while (!is_up)
        run_once();
    turn_destroy(turn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_over_tcp_probes_a_silent_redis),
        cmocka_unit_test(
            a_turn_that_is_destroyed_while_the_library_is_loaded_notifies_waiting_calls),
        cmocka_unit_test(an_outage_for_want_of_room_for_the_library_ends_with_on_up),
        cmocka_unit_test(an_outage_that_passes_into_a_full_redis_ends_with_on_up_then),
        cmocka_unit_test(a_connection_on_which_the_library_does_not_load_is_given_up),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
