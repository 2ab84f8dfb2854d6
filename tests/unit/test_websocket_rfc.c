/* SPDX-License-Identifier: MIT
 * test_websocket_rfc.c - RFC 6455 case by case: what a peer may send and what no peer may. */
#include "tests/unit/websocket_fixture.h"

enum { PROTOCOL_ERROR = 1002, NOT_UTF8 = 1007 };

static unsigned char out[FRAME_MAX];
static size_t out_n;

static void add(int first, const void *bytes, size_t n)
{
    out_n += put_frame(out + out_n, first, bytes, n, true);
}

/* Bytes as they stand. */
static void add_raw(const void *bytes, size_t n)
{
    memcpy(out + out_n, bytes, n);
    out_n += n;
}

static void send_out(int fd)
{
    fixture_write(fd, out, out_n);
    out_n = 0;
}

static void expect_pong(int fd, const char *bytes, size_t n)
{
    assert_true(read_frame(fd));
    assert_int_equal(got.first, FIN | PONG);
    assert_int_equal(got.n, n);
    assert_memory_equal(got.bytes, bytes, n);
}

/* What was added closes the socket with `code`, and no message of it was delivered. */
static void expect_fault(const char *what, unsigned code)
{
    int fd = shake_hands("/echo");
    add(FIN | TEXT, "not heard", 9);
    send_out(fd);
    if (!read_frame(fd))
        fail_msg("%s: no close frame", what);
    if (got.first != (FIN | CLOSE))
        fail_msg("%s: frame %02x instead of a close", what, (unsigned)got.first);
    unsigned now = (unsigned char)got.bytes[0] << 8 | (unsigned char)got.bytes[1];
    if (now != code)
        fail_msg("%s: closed with %u, not %u", what, now, code);
    add(FIN | CLOSE, "\x03\xe8", 2);
    fixture_write(fd, out, out_n);
    out_n = 0;
    assert_false(read_frame(fd));
    expect_gone(fd, code);
}

/* --- fragments -------------------------------------------------------------------------------- */

static void control_frames_come_between_fragments_and_are_answered_first(void **state)
{
    int fd = shake_hands("/echo");
    add(TEXT, "one ", 4);
    add(FIN | PING, "a", 1);
    add(CONTINUATION, "two ", 4);
    add(FIN | PONG, "of nobody's ping", 16);
    add(FIN | PING, big, 125);
    add(CONTINUATION, "", 0);
    add(FIN | PING, "", 0);
    add(FIN | CONTINUATION, "three", 5);
    send_out(fd);
    expect_pong(fd, "a", 1);
    expect_pong(fd, big, 125);
    expect_pong(fd, "", 0);
    expect_text(fd, "one two three", 13);
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

static void a_character_may_be_cut_anywhere(void **state)
{
    static const char text[] = "\xc3\xab\xe2\x82\xac\xf0\x9f\xa6\x9c.";
    enum { TEXT_N = sizeof text - 1 };
    int fd = shake_hands("/echo");
    for (size_t cut = 0; cut <= TEXT_N; cut++) {
        add(TEXT, text, cut);
        add(FIN | CONTINUATION, text + cut, TEXT_N - cut);
        send_out(fd);
        expect_text(fd, text, TEXT_N);
    }
    for (size_t i = 0; i < TEXT_N; i++)
        add(i == 0 ? TEXT : CONTINUATION, text + i, 1);
    add(FIN | CONTINUATION, "", 0);
    send_out(fd);
    expect_text(fd, text, TEXT_N);
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

static void thousands_of_fragments_are_one_message(void **state)
{
    enum { EMPTY_N = 20000, PIECES_N = 200000, ROUND = 20000 };
    int fd = shake_hands("/echo");
    add(TEXT, "", 0);
    for (int i = 0; i < EMPTY_N; i++)
        add(CONTINUATION, "", 0);
    add(FIN | CONTINUATION, "end", 3);
    send_out(fd);
    expect_text(fd, "end", 3);
    for (int i = 0; i < PIECES_N; i++) {
        add((i == 0 ? TEXT : CONTINUATION) | (i + 1 == PIECES_N ? FIN : 0), "x", 1);
        if (i % ROUND == 0)
            send_out(fd);
    }
    send_out(fd);
    expect_text(fd, big, PIECES_N);
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

static void fragments_are_together_no_larger_than_a_message(void **state)
{
    int fd = shake_hands("/small");
    add(TEXT, big, 60);
    add(FIN | CONTINUATION, big, 40);
    send_out(fd);
    expect_text(fd, big, 100);
    add(TEXT, big, 60);
    add(CONTINUATION, big, 41);
    send_out(fd);
    expect_close(fd, WEBSOCKET_TOO_BIG);
    expect_gone(fd, WEBSOCKET_TOO_BIG);
}

static void frames_of_every_form_of_length_come_in_pieces_of_one_byte(void **state)
{
    int fd = shake_hands("/echo");
    static const size_t sizes[] = {0, 125, 126, 300, 65536};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        add(FIN | TEXT, big, sizes[i]);
        size_t slow_n = out_n < 400 ? out_n : 400;
        for (size_t at = 0; at < slow_n; at++)
            fixture_write(fd, out + at, 1);
        fixture_write(fd, out + slow_n, out_n - slow_n);
        out_n = 0;
        expect_text(fd, big, sizes[i]);
    }
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

/* --- faults ----------------------------------------------------------------------------------- */

static void reserved_bits_and_opcodes_are_faults(void **state)
{
    for (int bit = 0x10; bit <= 0x40; bit <<= 1) {
        add(FIN | bit | TEXT, "x", 1);
        expect_fault("reserved bit of a text", PROTOCOL_ERROR);
        add(FIN | bit | PING, "x", 1);
        expect_fault("reserved bit of a ping", PROTOCOL_ERROR);
        add(TEXT, "x", 1);
        add(FIN | bit | CONTINUATION, "x", 1);
        expect_fault("reserved bit of a continuation", PROTOCOL_ERROR);
    }
    for (int opcode = 3; opcode < 16; opcode++) {
        if (opcode >= CLOSE && opcode <= PONG)
            continue;
        add(FIN | opcode, "x", 1);
        expect_fault("reserved opcode", PROTOCOL_ERROR);
    }
}

static void fragments_out_of_turn_are_faults(void **state)
{
    add(FIN | CONTINUATION, "x", 1);
    expect_fault("a continuation of nothing", PROTOCOL_ERROR);
    add(CONTINUATION, "x", 1);
    expect_fault("an unfinished continuation of nothing", PROTOCOL_ERROR);
    add(TEXT, "x", 1);
    expect_fault("a text within a text", PROTOCOL_ERROR);
    add(TEXT, "x", 1);
    add(BINARY, "x", 1);
    expect_fault("a binary within a text", PROTOCOL_ERROR);
    add(PING, "x", 1);
    expect_fault("a ping in fragments", PROTOCOL_ERROR);
    add(CLOSE, "\x03\xe8", 2);
    expect_fault("a close in fragments", PROTOCOL_ERROR);
}

static void frames_without_a_mask_are_faults(void **state)
{
    static const int firsts[] = {FIN | TEXT, TEXT, FIN | PING, FIN | PONG, FIN | CLOSE};
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        out_n += put_frame(out, firsts[i], "\x03\xe8", 2, false);
        expect_fault("no mask", PROTOCOL_ERROR);
    }
    static const unsigned char zeros[] = {FIN | TEXT, 0x80 | 2, 0, 0, 0, 0, 'o', 'k'};
    int fd = shake_hands("/echo");
    add_raw(zeros, sizeof zeros);
    send_out(fd);
    expect_text(fd, "ok", 2);
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

static void lengths_that_are_not_the_shortest_are_faults(void **state)
{
    add_raw("\x81\xfe\x00\x7d\x01\x02\x03\x04", 8);
    expect_fault("125 as 126", PROTOCOL_ERROR);
    add_raw("\x81\xfe\x00\x00\x01\x02\x03\x04", 8);
    expect_fault("0 as 126", PROTOCOL_ERROR);
    add_raw("\x81\xff\x00\x00\x00\x00\x00\x00\x00\x7e\x01\x02\x03\x04", 14);
    expect_fault("126 as 127", PROTOCOL_ERROR);
    add_raw("\x81\xff\x00\x00\x00\x00\x00\x00\xff\xff\x01\x02\x03\x04", 14);
    expect_fault("65535 as 127", PROTOCOL_ERROR);
    add_raw("\x81\xff\x80\x00\x00\x00\x00\x00\x00\x01\x01\x02\x03\x04", 14);
    expect_fault("the highest bit of 127", PROTOCOL_ERROR);
}

static void control_frames_of_more_than_125_bytes_are_faults(void **state)
{
    static const int opcodes[] = {PING, PONG, CLOSE};
    for (size_t i = 0; i < 3; i++) {
        add(FIN | opcodes[i], big, 126);
        expect_fault("126 bytes", PROTOCOL_ERROR);
        add(FIN | opcodes[i], big, 65536);
        expect_fault("65536 bytes", PROTOCOL_ERROR);
    }
}

/* --- UTF-8 ------------------------------------------------------------------------------------ */

static void text_that_is_not_utf8_is_a_fault(void **state)
{
    static const char *const texts[] = {
        "\x80",
        "a\xbf",
        "\xc0\xaf",
        "\xc1\xbf",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xf8\x88\x80\x80\x80",
        "\xfe",
        "\xff",
        "\xc3\x28",
        "\xe2\x82",
        "\xf0\x9f\xa6",
        "\xe2\x28\xa1",
        "ok\xc3",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t n = strlen(texts[i]);
        add(FIN | TEXT, texts[i], n);
        expect_fault("in one frame", NOT_UTF8);
        for (size_t at = 0; at < n; at++)
            add((at == 0 ? TEXT : CONTINUATION) | (at + 1 == n ? FIN : 0), texts[i] + at, 1);
        expect_fault("a byte in each frame", NOT_UTF8);
    }
    static const char *const good[] = {
        "\x7f",         "\xc2\x80",     "\xe0\xa0\x80",     "\xed\x9f\xbf",
        "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    int fd = shake_hands("/echo");
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        echoes(fd, good[i]);
    add(FIN | PING, "\xff\xfe", 2);
    send_out(fd);
    expect_pong(fd, "\xff\xfe", 2);
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

static void bad_utf8_is_a_fault_before_its_message_ends(void **state)
{
    add(TEXT, "begins well", 11);
    add(CONTINUATION, "\xc3\x28", 2);
    int fd = shake_hands("/echo");
    send_out(fd);
    expect_close(fd, NOT_UTF8);
    expect_gone(fd, NOT_UTF8);
}

/* --- the close handshake ---------------------------------------------------------------------- */

static void codes_that_a_peer_may_send_are_echoed(void **state)
{
    static const unsigned codes[] = {1000, 1001, 1002, 1003, 1007, 1008, 1009,
                                     1010, 1011, 3000, 3999, 4000, 4999};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char bytes[125] = {(char)(codes[i] >> 8), (char)codes[i]};
        memset(bytes + 2, 'r', 123);
        int fd = shake_hands("/echo");
        add(FIN | CLOSE, bytes, i % 2 == 0 ? 2 : 125);
        add(FIN | TEXT, "after the close", 15);
        add(FIN | PING, "after the close", 15);
        send_out(fd);
        expect_close(fd, codes[i]);
        assert_false(read_frame(fd));
        expect_gone(fd, codes[i]);
    }
}

static void codes_that_no_peer_may_send_are_faults(void **state)
{
    static const unsigned codes[] = {0,    1,    999,  1004, 1005, 1006, 1015,
                                     1016, 1100, 2000, 2999, 5000, 65535};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char bytes[2] = {(char)(codes[i] >> 8), (char)codes[i]}, what[32];
        snprintf(what, sizeof what, "code %u", codes[i]);
        add(FIN | CLOSE, bytes, 2);
        expect_fault(what, PROTOCOL_ERROR);
    }
    add(FIN | CLOSE, "\x03", 1);
    expect_fault("half a code", PROTOCOL_ERROR);
    add(FIN | CLOSE, "\x03\xe8\xff", 3);
    expect_fault("a reason that is not UTF-8", NOT_UTF8);
}

/* --- the handshake ---------------------------------------------------------------------------- */

static int ask(const char *request)
{
    static char response[8192];
    return fixture_ask(request, response, sizeof response);
}

static void a_handshake_that_is_not_one_is_answered_over_http(void **state)
{
    unsigned before = atomic_load(&accepted_n);
#define HOST "Host: x\r\n"
#define CLOSES "Connection: close, Upgrade\r\nUpgrade: websocket\r\n"
    assert_int_equal(ask("GET /echo HTTP/1.0\r\n" HOST CLOSES KEY VERSION "\r\n"), 426);
    assert_int_equal(
        ask("POST /echo HTTP/1.1\r\n" HOST CLOSES KEY VERSION "Content-Length: 0\r\n\r\n"), 405);
    assert_int_equal(ask("GET /none HTTP/1.1\r\n" HOST CLOSES KEY VERSION "\r\n"), 404);
    assert_int_equal(
        ask("GET /echo HTTP/1.1\r\n" HOST CLOSES KEY "Sec-WebSocket-Version: 13, 8\r\n\r\n"), 426);
    assert_int_equal(
        ask("GET /echo HTTP/1.1\r\n" HOST CLOSES KEY "Sec-WebSocket-Version: \r\n\r\n"), 426);
    assert_int_equal(
        ask("GET /echo HTTP/1.1\r\n" HOST CLOSES VERSION "Sec-WebSocket-Key: \r\n\r\n"), 400);
    assert_int_equal(ask("GET /echo HTTP/1.1\r\n" HOST CLOSES VERSION
                         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZWU=\r\n\r\n"),
                     400);
    assert_int_equal(atomic_load(&accepted_n), before);
}

static void what_is_offered_besides_is_not_taken(void **state)
{
    static const char request[] =
        "GET /echo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: WEBSOCKET, h2c\r\n" KEY
            VERSION "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"
        "Sec-WebSocket-Protocol: chat, superchat\r\n\r\n";
    int fd = fixture_connect();
    fixture_write(fd, request, sizeof request - 1);
    fixture_read_head(fd, head, sizeof head);
    if (strstr(head, "HTTP/1.1 101 ") == NULL)
        fail_msg("%s", head);
    assert_null(strcasestr(head, "\r\nsec-websocket-extensions:"));
    assert_null(strcasestr(head, "\r\nsec-websocket-protocol:"));
    echoes(fd, "hello");
    expect_gone(fd, WEBSOCKET_CUT_OFF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_frames_come_between_fragments_and_are_answered_first),
        cmocka_unit_test(a_character_may_be_cut_anywhere),
        cmocka_unit_test(thousands_of_fragments_are_one_message),
        cmocka_unit_test(fragments_are_together_no_larger_than_a_message),
        cmocka_unit_test(frames_of_every_form_of_length_come_in_pieces_of_one_byte),
        cmocka_unit_test(reserved_bits_and_opcodes_are_faults),
        cmocka_unit_test(fragments_out_of_turn_are_faults),
        cmocka_unit_test(frames_without_a_mask_are_faults),
        cmocka_unit_test(lengths_that_are_not_the_shortest_are_faults),
        cmocka_unit_test(control_frames_of_more_than_125_bytes_are_faults),
        cmocka_unit_test(text_that_is_not_utf8_is_a_fault),
        cmocka_unit_test(bad_utf8_is_a_fault_before_its_message_ends),
        cmocka_unit_test(codes_that_a_peer_may_send_are_echoed),
        cmocka_unit_test(codes_that_no_peer_may_send_are_faults),
        cmocka_unit_test(a_handshake_that_is_not_one_is_answered_over_http),
        cmocka_unit_test(what_is_offered_besides_is_not_taken),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
