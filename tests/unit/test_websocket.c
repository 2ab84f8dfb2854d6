/* SPDX-License-Identifier: MIT
 * test_websocket.c - shared/http/websocket.h: a real server, and a peer that writes its frames byte
 * by byte. */
#include "tests/unit/http_fixture.h"

#include "shared/http/websocket.h"

#include <poll.h>
#include <stdatomic.h>

enum { MESSAGE_MAX = 100000, FRAME_MAX = 1 << 20, PING_MS = 400 };
enum { CONTINUATION, TEXT, BINARY, CLOSE = 8, PING, PONG, FIN = 0x80 };

static sem_t closed, full;
static atomic_uint closed_code, closed_n, accepted_n;
static char big[MESSAGE_MAX + 1];

/* --- the server's side ------------------------------------------------------------------------ */

/* cmocka's own assertions work on its thread only. */
#define require(holds)                                                                             \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #holds);                    \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Does what the message says, else sends it back. */
static void on_message(struct websocket *ws, void *arg, struct str text)
{
    require(arg == &closed);
    if (str_eq(text, STR("flood"))) {
        while (websocket_send(ws, (struct str){big, MESSAGE_MAX}))
            ;
        require(!websocket_send(ws, STR("more")));
        sem_post(&full);
    } else if (str_eq(text, STR("bye"))) {
        require(websocket_send(ws, STR("one")));
        require(websocket_send(ws, (struct str){big, MESSAGE_MAX}));
        websocket_close(ws, 4001, "as asked");
        require(!websocket_send(ws, STR("late")));
        websocket_close(ws, 4002, "again");
    } else {
        require(websocket_send(ws, text));
    }
}

static void on_closed(struct websocket *ws, void *arg, unsigned code)
{
    require(arg == &closed);
    require(!websocket_send(ws, STR("late")));
    websocket_close(ws, WEBSOCKET_NORMAL, "late");
    atomic_store(&closed_code, code);
    atomic_fetch_add(&closed_n, 1);
    sem_post(&closed);
}

static const struct websocket_events echo_events = {
    .message_max_bytes = MESSAGE_MAX, .on_message = on_message, .on_closed = on_closed};

static const struct websocket_events pinged_events = {
    .ping_every_ms = PING_MS, .on_message = on_message, .on_closed = on_closed};

static void accept_with(struct request *r, const struct websocket_events *events)
{
    struct websocket *ws = websocket_accept(r, events, &closed);
    if (ws == NULL)
        return;
    atomic_fetch_add(&accepted_n, 1);
    if (request_param_is_true(r, "greet"))
        require(websocket_send(ws, STR("hello")));
    if (request_param_is_true(r, "leave"))
        websocket_close(ws, WEBSOCKET_POLICY, "not today");
}

static void echo(struct request *r)
{
    accept_with(r, &echo_events);
}

static void pinged(struct request *r)
{
    accept_with(r, &pinged_events);
}

/* Sends a number each time that the one before is written, up to 3,000. */
static void on_pages_idle(struct websocket *ws, void *arg)
{
    static unsigned page;
    char text[16];
    (void)arg;
    for (int i = 0; i < 1000 && page < 3000; i++) {
        int n = snprintf(text, sizeof text, "%u", page++);
        require(websocket_send(ws, (struct str){text, (size_t)n}));
    }
}

static const struct websocket_events pages_events = {
    .on_message = on_message, .on_idle = on_pages_idle, .on_closed = on_closed};

static void pages(struct request *r)
{
    struct websocket *ws = websocket_accept(r, &pages_events, &closed);
    require(ws != NULL);
    atomic_fetch_add(&accepted_n, 1);
    require(websocket_send(ws, STR("pages")));
}

static const struct route routes[] = {
    {"GET", "/echo", ROLES_NONE, echo},
    {"GET", "/pages", ROLES_NONE, pages},
    {"GET", "/pinged", ROLES_NONE, pinged},
    {0},
};

static const struct server_config config = {.cors_origins = "https://a.example,https://b.example",
                                            .trusted_proxies = "",
                                            .body_max_bytes = 4096,
                                            .header_max_bytes = 32768,
                                            .idle_ms = 30000};

/* --- the peer's side -------------------------------------------------------------------------- */

#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define UPGRADE "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"

static char head[8192];

static int shake_hands(const char *path)
{
    char request[512];
    int fd = fixture_connect();
    int n = snprintf(request, sizeof request,
                     "GET %s HTTP/1.1\r\nHost: x\r\n" KEY VERSION UPGRADE "\r\n", path);
    fixture_write(fd, request, (size_t)n);
    fixture_read_head(fd, head, sizeof head);
    assert_non_null(strstr(head, "HTTP/1.1 101 Switching Protocols\r\n"));
    return fd;
}

/* Puts a frame; masked unless told. Returns its size. */
static size_t put_frame(unsigned char *to, int first, const void *bytes, size_t n, bool is_masked)
{
    static const unsigned char mask[4] = {0x12, 0x34, 0x56, 0x78};
    size_t at = 0;
    to[at++] = (unsigned char)first;
    to[at++] = (unsigned char)((is_masked ? 0x80 : 0) | (n < 126 ? n : n < 65536 ? 126 : 127));
    for (int shift = n < 126 ? -8 : n < 65536 ? 8 : 56; shift >= 0; shift -= 8)
        to[at++] = (unsigned char)((uint64_t)n >> shift);
    if (is_masked)
        memcpy(to + at, mask, 4);
    at += is_masked ? 4 : 0;
    for (size_t i = 0; i < n; i++)
        to[at + i] = ((const unsigned char *)bytes)[i] ^ (is_masked ? mask[i % 4] : 0);
    return at + n;
}

static void send_frame(int fd, int first, const void *bytes, size_t n)
{
    static unsigned char frame[FRAME_MAX];
    fixture_write(fd, frame, put_frame(frame, first, bytes, n, true));
}

static void send_text(int fd, const char *text)
{
    send_frame(fd, FIN | TEXT, text, strlen(text));
}

struct frame {
    int first;
    size_t n;
    char bytes[FRAME_MAX];
};
static struct frame got;

/* Reads one frame; false when the other end closed. */
static bool read_frame(int fd)
{
    unsigned char bytes[8];
    if (!fixture_read(fd, bytes, 2))
        return false;
    got.first = bytes[0];
    got.n = bytes[1];
    assert_true(got.n <= 127); /* a server never masks */
    if (got.n >= 126) {
        size_t more = got.n == 126 ? 2 : 8;
        if (!fixture_read(fd, bytes, more))
            return false;
        got.n = 0;
        for (size_t i = 0; i < more; i++)
            got.n = got.n << 8 | bytes[i];
    }
    assert_true(got.n < sizeof got.bytes);
    if (!fixture_read(fd, got.bytes, got.n))
        return false;
    got.bytes[got.n] = 0;
    return true;
}

static void expect_text(int fd, const char *text, size_t n)
{
    assert_true(read_frame(fd));
    assert_int_equal(got.first, FIN | TEXT);
    assert_int_equal(got.n, n);
    assert_memory_equal(got.bytes, text, n);
}

static void expect_close(int fd, unsigned code)
{
    assert_true(read_frame(fd));
    assert_int_equal(got.first, FIN | CLOSE);
    assert_true(got.n >= 2);
    assert_int_equal((unsigned char)got.bytes[0] << 8 | (unsigned char)got.bytes[1], code);
}

static void await(sem_t *happened)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    assert_int_equal(sem_timedwait(happened, &until), 0);
}

static void expect_gone(int fd, unsigned code)
{
    close(fd);
    await(&closed);
    assert_int_equal(atomic_load(&closed_code), code);
    assert_int_equal(atomic_load(&closed_n), atomic_load(&accepted_n));
}

static void echoes(int fd, const char *text)
{
    send_text(fd, text);
    expect_text(fd, text, strlen(text));
}

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

/* --- bounds ----------------------------------------------------------------------------------- */

static void a_reader_that_does_not_read_is_closed_and_told_so(void **state)
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

/* --- the node's end --------------------------------------------------------------------------- */

static void drain(void *arg)
{
    (void)arg;
    server_drain(&fixture.server);
}

static void look_idle(void *arg)
{
    *(bool *)arg = server_is_idle(&fixture.server);
}

static void a_node_that_drains_closes_its_sockets_and_takes_no_more(void **state)
{
    static const char late[] = "GET /echo HTTP/1.1\r\nHost: x\r\n" KEY VERSION UPGRADE "\r\n";
    bool is_idle = false;
    int fds[3], other = fixture_connect();
    fixture_write(other, late, 20); /* accepted, and in the middle of its request */
    for (int i = 0; i < 3; i++) {
        fds[i] = shake_hands("/echo");
        echoes(fds[i], "hello");
    }
    assert_int_equal(metrics_sum(METRIC_WEBSOCKETS), 3);
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
    while (!is_idle)
        fixture_do(look_idle, &is_idle);
    assert_int_equal(metrics_sum(METRIC_WEBSOCKETS), 0);
    assert_int_equal(atomic_load(&closed_n), atomic_load(&accepted_n));
}

static int set_up(void **state)
{
    memset(big, 'x', sizeof big);
    sem_init(&closed, 0, 0);
    sem_init(&full, 0, 0);
    fixture_start(&config, routes);
    return 0;
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
        cmocka_unit_test(a_reader_that_does_not_read_is_closed_and_told_so),
        cmocka_unit_test(more_than_fits_is_sent_page_by_page),
        cmocka_unit_test(pings_without_end_are_not_read_without_end),
        cmocka_unit_test(a_silent_peer_is_pinged_and_then_cut_off),
        cmocka_unit_test(a_node_that_drains_closes_its_sockets_and_takes_no_more),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
