/* SPDX-License-Identifier: MIT
 * test_websocket.c - shared/http/websocket/websocket.h: the handshake, messages and the end of a
 * socket. */
#include "tests/unit/websocket_fixture.h"

/* --- the handshake ---------------------------------------------------------------------------- */

static void the_handshake_answers_the_key_of_the_standard(void **state)
{
    int fd = shake_hands("/echo");
    assert_non_null(strstr(head, "\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    assert_non_null(strstr(head, "\r\nupgrade: websocket\r\n"));
    assert_non_null(strstr(head, "\r\nConnection: upgrade\r\n"));
    assert_non_null(strstr(head, "\r\nx-request-id: "));
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

static void expect_refusal(const char *headers, int status, const char *with)
{
    char request[1024], response[4096];
    snprintf(request, sizeof request, "GET /echo HTTP/1.1\r\nHost: x\r\n%s\r\n", headers);
    assert_int_equal(fixture_ask(request, response, sizeof response), status);
    if (strstr(response, with) == NULL)
        fail_msg("no '%s' in: %s", with, response);
}

static void what_is_no_handshake_is_refused_with_the_reason(void **state)
{
#define ENDS "Connection: close\r\n"
#define ENDS_UPGRADE "Connection: close, upgrade\r\nUpgrade: websocket\r\n"
    unsigned before = atomic_load(&accepted_n);
    expect_refusal(ENDS, 426, "\r\nupgrade: websocket\r\n");
    expect_refusal(ENDS KEY VERSION, 426, "\"code\":\"upgrade_required\"");
    expect_refusal("Connection: close, upgrade\r\nUpgrade: h2\r\n" KEY VERSION, 426,
                   "upgrade: websocket");
    expect_refusal(ENDS "Upgrade: websocket\r\n" KEY VERSION, 426, "upgrade: websocket");
    expect_refusal(ENDS_UPGRADE KEY, 426, "\r\nsec-websocket-version: 13\r\n");
    expect_refusal(ENDS_UPGRADE KEY "Sec-WebSocket-Version: 8\r\n", 426,
                   "sec-websocket-version: 13");
    expect_refusal(ENDS_UPGRADE VERSION, 400, "Sec-WebSocket-Key");
    expect_refusal(ENDS_UPGRADE VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=\r\n", 400,
                   "Key");
    expect_refusal(ENDS_UPGRADE VERSION "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ!==\r\n", 400,
                   "Key");
    expect_refusal(ENDS_UPGRADE VERSION "Sec-WebSocket-Key: ========================\r\n", 400,
                   "Key");
    expect_refusal(ENDS_UPGRADE VERSION KEY "Origin: https://evil.example\r\n", 403, "forbidden");
    assert_int_equal(atomic_load(&accepted_n), before);
}

static void a_listed_origin_may_connect(void **state)
{
    static const char request[] =
        "GET /echo HTTP/1.1\r\nHost: x\r\nOrigin: https://b.example\r\n" KEY VERSION UPGRADE "\r\n";
    int fd = fixture_connect();
    fixture_write(fd, request, sizeof request - 1);
    fixture_read_head(fd, head, sizeof head);
    assert_non_null(strstr(head, "HTTP/1.1 101 "));
    echoes(fd, "hello");
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

static void frames_may_come_along_with_the_handshake(void **state)
{
    unsigned char bytes[512];
    static const char request[] =
        "GET /echo?greet=1 HTTP/1.1\r\nHost: x\r\n" KEY VERSION UPGRADE "\r\n";
    size_t n = sizeof request - 1;
    int fd = fixture_connect();
    memcpy(bytes, request, n);
    n += put_frame(bytes + n, FIN | TEXT, "one", 3, true);
    n += put_frame(bytes + n, FIN | TEXT, "two", 3, true);
    fixture_write(fd, bytes, n);
    fixture_read_head(fd, head, sizeof head);
    expect_text(fd, "hello", 5);
    expect_text(fd, "one", 3);
    expect_text(fd, "two", 3);
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

static void a_socket_may_be_closed_before_it_is_open(void **state)
{
    int fd = shake_hands("/echo?greet=1&leave=1");
    expect_text(fd, "hello", 5);
    expect_close(fd, WEBSOCKET_POLICY);
    assert_int_equal(got.n, 2 + strlen("not today"));
    assert_memory_equal(got.bytes + 2, "not today", 9);
    expect_gone(fd, WEBSOCKET_POLICY);
}

/* --- messages --------------------------------------------------------------------------------- */

static void texts_of_any_size_come_back(void **state)
{
    int fd = shake_hands("/echo");
    echoes(fd, "");
    echoes(fd, "Zo\xc3\xab \xf0\x9f\xa6\x9c");
    static const size_t sizes[] = {125, 126, 65535, 65536, MESSAGE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        send_frame(fd, FIN | TEXT, big, sizes[i]);
        expect_text(fd, big, sizes[i]);
    }
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

static void a_message_in_pieces_byte_by_byte_is_one_message(void **state)
{
    unsigned char bytes[64];
    int fd = shake_hands("/echo");
    size_t n = put_frame(bytes, TEXT, "Zo\xc3", 3, true);
    n += put_frame(bytes + n, FIN | PING, "p", 1, true);
    n += put_frame(bytes + n, CONTINUATION, "", 0, true);
    n += put_frame(bytes + n, FIN | CONTINUATION, "\xab", 1, true);
    for (size_t i = 0; i < n; i++)
        fixture_write(fd, bytes + i, 1);
    assert_true(read_frame(fd));
    assert_int_equal(got.first, FIN | PONG);
    assert_string_equal(got.bytes, "p");
    expect_text(fd, "Zo\xc3\xab", 4);
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

static void what_no_peer_may_send_closes_with_its_code(void **state)
{
    static const struct {
        int first;
        const char *bytes;
        size_t n;
        bool is_bare;
        unsigned code;
    } cases[] = {
        {FIN | TEXT, big, MESSAGE_MAX + 1, false, WEBSOCKET_TOO_BIG},
        {FIN | BINARY, "x", 1, false, WEBSOCKET_UNSUPPORTED},
        {FIN | TEXT, "\xff", 1, false, 1007},
        {FIN | TEXT, "x\xc3", 2, false, 1007},
        {FIN | TEXT, "\xed\xa0\x80", 3, false, 1007},
        {FIN | TEXT, "x", 1, true, 1002},
        {FIN | CONTINUATION, "x", 1, false, 1002},
        {FIN | 0x40 | TEXT, "x", 1, false, 1002},
        {FIN | 0x3, "x", 1, false, 1002},
    };
    static unsigned char frame[FRAME_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int fd = shake_hands("/echo");
        size_t n = put_frame(frame, cases[i].first, cases[i].bytes, cases[i].n, !cases[i].is_bare);
        fixture_write(fd, frame, n);
        expect_close(fd, cases[i].code);
        expect_gone(fd, cases[i].code);
    }
}

static void a_length_past_all_measure_is_refused_before_it_is_sent(void **state)
{
    static const unsigned char frame[] = {
        FIN | TEXT, 0x80 | 127, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 'x'};
    int fd = shake_hands("/echo");
    fixture_write(fd, frame, sizeof frame);
    expect_close(fd, WEBSOCKET_TOO_BIG);
    expect_gone(fd, WEBSOCKET_TOO_BIG);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void a_close_is_answered_with_its_own_code(void **state)
{
    int fd = shake_hands("/echo");
    send_frame(fd, FIN | CLOSE, "\x0f\xa1gone", 6);
    expect_close(fd, 4001);
    assert_false(read_frame(fd));
    expect_gone(fd, 4001);
    fd = shake_hands("/echo");
    send_frame(fd, FIN | CLOSE, "", 0);
    assert_true(read_frame(fd));
    assert_int_equal(got.first, FIN | CLOSE);
    assert_int_equal(got.n, 0);
    expect_gone(fd, WEBSOCKET_NO_CODE);
}

static void messages_that_were_sent_before_a_close_arrive_before_it(void **state)
{
    int fd = shake_hands("/echo");
    send_text(fd, "bye");
    send_text(fd, "not heard any more");
    expect_text(fd, "one", 3);
    expect_text(fd, big, MESSAGE_MAX);
    expect_close(fd, 4001);
    send_frame(fd, FIN | CLOSE, "\x0f\xa1", 2);
    assert_false(read_frame(fd));
    expect_gone(fd, 4001);
}

static void a_peer_that_never_closes_its_side_is_cut_off(void **state)
{
    int fd = shake_hands("/echo?leave=1");
    expect_close(fd, WEBSOCKET_POLICY);
    assert_false(read_frame(fd));
    send_text(fd, "not heard any more");
    await(&closed);
    assert_int_equal(atomic_load(&closed_code), WEBSOCKET_POLICY);
    close(fd);
}

static void a_peer_that_leaves_without_a_word_is_cut_off(void **state)
{
    int fd = shake_hands("/echo");
    struct linger reset = {.l_onoff = 1};
    echoes(fd, "hello");
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_handshake_answers_the_key_of_the_standard),
        cmocka_unit_test(what_is_no_handshake_is_refused_with_the_reason),
        cmocka_unit_test(a_listed_origin_may_connect),
        cmocka_unit_test(frames_may_come_along_with_the_handshake),
        cmocka_unit_test(a_socket_may_be_closed_before_it_is_open),
        cmocka_unit_test(texts_of_any_size_come_back),
        cmocka_unit_test(a_message_in_pieces_byte_by_byte_is_one_message),
        cmocka_unit_test(what_no_peer_may_send_closes_with_its_code),
        cmocka_unit_test(a_length_past_all_measure_is_refused_before_it_is_sent),
        cmocka_unit_test(a_close_is_answered_with_its_own_code),
        cmocka_unit_test(messages_that_were_sent_before_a_close_arrive_before_it),
        cmocka_unit_test(a_peer_that_never_closes_its_side_is_cut_off),
        cmocka_unit_test(a_peer_that_leaves_without_a_word_is_cut_off),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
