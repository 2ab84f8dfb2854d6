/* SPDX-License-Identifier: MIT
 * test_websocket_limits.c - what bounds a WebSocket: readers that do not read, peers that send too
 * much or nothing, an owner that is not ready, the end of the node. */
#include "tests/unit/websocket_fixture.h"

/* --- bounds ----------------------------------------------------------------------------------- */

static void a_reader_that_does_not_read_is_closed_with_a_reason(void **state)
{
    int fd = shake_hands("/echo");
    send_text(fd, "flood");
    await(&full);
    do
        assert_true(read_frame(fd));
    while (got.first == (FIN | TEXT) && got.n == MESSAGE_MAX);
    assert_int_equal(got.first, FIN | CLOSE);
    assert_int_equal((unsigned char)got.bytes[0] << 8 | (unsigned char)got.bytes[1],
                     WEBSOCKET_TRY_AGAIN);
    expect_gone(fd, WEBSOCKET_TRY_AGAIN);
}

static void more_than_fits_is_sent_page_by_page(void **state)
{
    char text[16];
    int fd = shake_hands("/pages");
    expect_text(fd, "pages", 5);
    for (unsigned i = 0; i < 3000; i++) {
        int n = snprintf(text, sizeof text, "%u", i);
        expect_text(fd, text, (size_t)n);
    }
    echoes(fd, "still here");
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

/* The pongs wait for a peer that does not read them, so the peer has to wait as well. */
static void pings_without_end_are_not_read_without_end(void **state)
{
    enum { PAYLOAD = 125, MUCH = 64 << 20 };
    unsigned char frame[PAYLOAD + 16];
    size_t frame_n = put_frame(frame, FIN | PING, big, PAYLOAD, true), sent = 0, at = 0;
    int fd = shake_hands("/echo");
    struct pollfd writable = {.fd = fd, .events = POLLOUT};
    while (poll(&writable, 1, 1000) == 1 && sent < MUCH) {
        ssize_t n = send(fd, frame + at, frame_n - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        assert_true(n > 0);
        sent += (size_t)n;
        at = (at + (size_t)n) % frame_n;
    }
    assert_true(sent < MUCH);
    for (size_t i = 0; i < sent / frame_n; i++) {
        assert_true(read_frame(fd));
        assert_int_equal(got.first, FIN | PONG);
        assert_int_equal(got.n, PAYLOAD);
    }
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

static void a_silent_peer_is_pinged_and_then_cut_off(void **state)
{
    int fd = shake_hands("/pinged");
    assert_true(read_frame(fd));
    assert_int_equal(got.first, FIN | PING);
    assert_false(read_frame(fd));
    expect_gone(fd, WEBSOCKET_CUT_OFF);

    fd = shake_hands("/pinged");
    for (int i = 0; i < 3; i++) {
        assert_true(read_frame(fd));
        assert_int_equal(got.first, FIN | PING);
        send_frame(fd, FIN | PONG, got.bytes, got.n);
    }
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

/* A peer that keeps the node's memory for a message that it never ends. */
static void a_message_that_takes_too_long_closes_the_socket(void **state)
{
    int fd = shake_hands("/pinged");
    send_frame(fd, TEXT, "begins", 6);
    for (int i = 0; i < 10; i++) {
        assert_true(read_frame(fd));
        if (got.first != (FIN | PING))
            break;
        send_frame(fd, FIN | PONG, got.bytes, got.n);
    }
    assert_int_equal(got.first, FIN | CLOSE);
    assert_int_equal((unsigned char)got.bytes[0] << 8 | (unsigned char)got.bytes[1],
                     WEBSOCKET_POLICY);
    expect_gone(fd, WEBSOCKET_POLICY);
}

/* It answers pings, so it is alive, but what it is sent stays unread. */
static void a_peer_that_takes_nothing_is_cut_off(void **state)
{
    static const int little = 4096;
    int fd = shake_hands("/pinged");
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof little), 0);
    send_text(fd, "fill");
    for (;;) {
        unsigned char pong[16];
        size_t n = put_frame(pong, FIN | PONG, "", 0, true);
        if (send(fd, pong, n, MSG_NOSIGNAL) < 0)
            break;
        if (sem_trywait(&closed) == 0) {
            sem_post(&closed);
            break;
        }
        usleep(20000);
    }
    atomic_store(&is_filling, false);
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

static void an_owner_that_is_not_ready_gets_messages_one_at_a_time(void **state)
{
    enum { N = 300 };
    char text[16];
    static unsigned char frames[N * 24];
    size_t n = 0;
    int fd = shake_hands("/pausing");
    for (unsigned i = 0; i < N; i++) {
        snprintf(text, sizeof text, "%u", i);
        n += put_frame(frames + n, FIN | TEXT, text, strlen(text), true);
    }
    fixture_write(fd, frames, n);
    send_frame(fd, FIN | TEXT, big, MESSAGE_MAX);
    for (unsigned i = 0; i < N; i++) {
        snprintf(text, sizeof text, "%u", i);
        expect_text(fd, text, strlen(text));
    }
    expect_text(fd, big, MESSAGE_MAX);
    assert_int_equal(atomic_load(&unpaused_n), 0);
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

static sem_t go;

static void note_turn(void *arg)
{
    (void)arg;
    note_order('t');
}

static void begin_noting(void *arg)
{
    (void)arg;
    fixture.loop.on_pass_end = note_turn;
}

/* Until all messages are there. */
static void hold_loop(void *arg)
{
    (void)arg;
    while (sem_wait(&go) != 0)
        ;
}

static void end_noting(void *arg)
{
    (void)arg;
    fixture.loop.on_pass_end = NULL;
}

/* Without the end of a turn between them nobody else would be served. */
static void long_messages_that_come_at_once_are_handled_in_several_turns(void **state)
{
    enum { MANY = 4, LONG = 20000 };
    int fds[MANY];
    unsigned handled = 0;
    (void)state;
    sem_init(&go, 0, 0);
    fixture_do(begin_noting, NULL); /* a socket may read once more before the loop is held */
    for (int i = 0; i < MANY; i++)
        fds[i] = shake_hands("/working");
    fixture.job = hold_loop;
    loop_wake(&fixture.loop);
    for (int i = 0; i < MANY; i++) {
        send_frame(fds[i], FIN | TEXT, big, LONG);
        send_frame(fds[i], FIN | TEXT, big, LONG + 1);
    }
    sem_post(&go);
    while (sem_wait(&fixture.done) != 0)
        ;
    for (int i = 0; i < MANY; i++) {
        expect_text(fds[i], big, LONG);
        expect_text(fds[i], big, LONG + 1);
    }
    for (int i = 1; i < MANY; i++) {
        close(fds[i]);
        await(&closed);
    }
    expect_gone(fds[0], WEBSOCKET_CUT_OFF);
    fixture_do(end_noting, NULL);
    for (const char *at = working_order; *at != 0; at++)
        handled += *at == 'm';
    assert_int_equal(handled, 2 * MANY);
    assert_null(strstr(working_order, "mm"));
}

static void one_address_gets_its_share_of_the_connections_as_sockets(void **state)
{
    int fds[SHARE];
    static const char request[] =
        "GET /echo HTTP/1.1\r\nHost: x\r\n" KEY VERSION "Connection: close, Upgrade\r\n"
        "Upgrade: websocket\r\n\r\n";
    char response[4096];
    for (int i = 0; i < SHARE; i++)
        fds[i] = shake_hands("/echo");
    assert_int_equal(fixture_ask(request, response, sizeof response), 429);
    assert_non_null(strstr(response, "\"code\":\"rate_limited\""));
    echoes(fds[0], "still here");
    close(fds[0]);
    await(&closed);
    fds[0] = shake_hands("/echo");
    for (int i = 0; i < SHARE; i++)
        close(fds[i]);
    for (int i = 0; i < SHARE; i++)
        await(&closed);
}

static void what_two_owners_do_not_read_leaves_room_for_a_third_one(void **state)
{
    enum { MOST = 150 }; /* half of 64 MiB, and one message for each socket without any */
    int fds[2 * SHARE], fd;
    for (int i = 0; i < 2 * SHARE; i++)
        fds[i] = shake_hands(i < SHARE ? "/crowd?who=first" : "/crowd?who=second");
    fd = shake_hands("/crowd?who=other");
    send_text(fd, "fill");
    await(&full);
    assert_in_range(crowd_sent_n, 100, MOST);
    assert_int_equal(other_sent_n, 4);
    for (int i = 0; i < 4; i++)
        expect_text(fd, big, MESSAGE_MAX);
    close(fd);
    for (int i = 0; i < 2 * SHARE; i++)
        close(fds[i]);
    for (int i = 0; i < 2 * SHARE + 1; i++)
        await(&closed);
}

/* --- the node's end --------------------------------------------------------------------------- */

static void drain(void *arg)
{
    (void)arg;
    server_drain(&fixture.server);
}

static void drain_again(void *arg)
{
    (void)arg;
    websocket_drain(&fixture.server, false);
}

static void look_idle(void *arg)
{
    *(bool *)arg = server_is_idle(&fixture.server);
}

static void a_node_that_drains_closes_its_sockets_and_takes_no_more(void **state)
{
    static const char late[] = "GET /echo HTTP/1.1\r\nHost: x\r\n" KEY VERSION UPGRADE "\r\n";
    bool is_idle = false;
    int busy_fd = shake_hands("/busy"), fds[3], other = fixture_connect();
    atomic_store(&is_busy, true);
    fixture_write(other, late, 20); /* accepted, and in the middle of its request */
    for (int i = 0; i < 3; i++) {
        fds[i] = shake_hands("/echo");
        echoes(fds[i], "hello");
    }
    assert_int_equal(metrics_sum(METRIC_WEBSOCKETS), 4);
    fixture_do(drain, NULL);
    for (int i = 0; i < 3; i++)
        expect_close(fds[i], WEBSOCKET_GOING_AWAY);
    for (int i = 0; i < 3; i++) {
        send_frame(fds[i], FIN | CLOSE, "\x03\xe9", 2);
        assert_false(read_frame(fds[i]));
        close(fds[i]);
        await(&closed);
        assert_int_equal(atomic_load(&closed_code), WEBSOCKET_GOING_AWAY);
    }
    fixture_write(other, late + 20, sizeof late - 21);
    fixture_read_head(other, head, sizeof head);
    assert_non_null(strstr(head, "HTTP/1.1 503 "));
    close(other);
    echoes(busy_fd, "not yet");
    atomic_store(&is_busy, false);
    fixture_do(drain_again, NULL);
    expect_close(busy_fd, WEBSOCKET_GOING_AWAY);
    expect_gone(busy_fd, WEBSOCKET_GOING_AWAY);
    while (!is_idle)
        fixture_do(look_idle, &is_idle);
    assert_int_equal(metrics_sum(METRIC_WEBSOCKETS), 0);
    assert_int_equal(atomic_load(&closed_n), atomic_load(&accepted_n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_that_does_not_read_is_closed_with_a_reason),
        cmocka_unit_test(more_than_fits_is_sent_page_by_page),
        cmocka_unit_test(pings_without_end_are_not_read_without_end),
        cmocka_unit_test(a_silent_peer_is_pinged_and_then_cut_off),
        cmocka_unit_test(a_message_that_takes_too_long_closes_the_socket),
        cmocka_unit_test(a_peer_that_takes_nothing_is_cut_off),
        cmocka_unit_test(an_owner_that_is_not_ready_gets_messages_one_at_a_time),
        cmocka_unit_test(long_messages_that_come_at_once_are_handled_in_several_turns),
        cmocka_unit_test(one_address_gets_its_share_of_the_connections_as_sockets),
        cmocka_unit_test(what_two_owners_do_not_read_leaves_room_for_a_third_one),
        cmocka_unit_test(a_node_that_drains_closes_its_sockets_and_takes_no_more),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
