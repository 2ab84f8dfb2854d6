/* SPDX-License-Identifier: MIT
 *
 * websocket_fixture: for tests of shared/http/websocket/websocket.h. The server's side: routes
 * whose sockets echo, send pages, pause or are busy. The peer's side: a bare socket that writes its
 * frames byte by byte. It is a whole program's: included once.
 */
#ifndef PARLEY_TESTS_UNIT_WEBSOCKET_FIXTURE_H
#define PARLEY_TESTS_UNIT_WEBSOCKET_FIXTURE_H

#include "tests/unit/http_fixture.h"

#include "shared/http/websocket/websocket.h"

#include <poll.h>
#include <stdatomic.h>

enum { MESSAGE_MAX = WEBSOCKET_MESSAGE_BYTES, FRAME_MAX = 1 << 20, PING_MS = 400 };
enum { CONTINUATION, TEXT, BINARY, CLOSE = 8, PING, PONG, FIN = 0x80 };

static sem_t closed, full;
static atomic_uint closed_code, closed_n, accepted_n;
static atomic_bool is_filling;
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
static inline void on_message(struct websocket *ws, void *arg, struct str text)
{
    require(arg == &closed);
    if (str_eq(text, STR("flood"))) {
        while (websocket_send(ws, (struct str){big, MESSAGE_MAX}))
            ;
        require(!websocket_send(ws, STR("more")));
        sem_post(&full);
    } else if (str_eq(text, STR("fill"))) {
        atomic_store(&is_filling, true);
        require(websocket_send(ws, (struct str){big, MESSAGE_MAX}));
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

static inline void on_closed(struct websocket *ws, void *arg, unsigned code)
{
    require(arg == &closed);
    require(!websocket_send(ws, STR("late")));
    websocket_close(ws, WEBSOCKET_NORMAL, "late");
    atomic_store(&closed_code, code);
    atomic_fetch_add(&closed_n, 1);
    sem_post(&closed);
}

static atomic_bool is_busy;

/* Sends on without end, never more than one message ahead. */
static inline void on_filled(struct websocket *ws, void *arg)
{
    (void)arg;
    if (atomic_load(&is_filling))
        require(websocket_send(ws, (struct str){big, MESSAGE_MAX}));
}

static inline bool on_busy(struct websocket *ws, void *arg)
{
    (void)ws, (void)arg;
    return atomic_load(&is_busy);
}

static const struct websocket_events echo_events = {.on_message = on_message,
                                                    .on_closed = on_closed};

static const struct websocket_events pinged_events = {.ping_every_ms = PING_MS,
                                                      .message_within_ms = 1,
                                                      .on_message = on_message,
                                                      .on_idle = on_filled,
                                                      .on_closed = on_closed};

static const struct websocket_events small_events = {
    .message_max_bytes = 100, .on_message = on_message, .on_closed = on_closed};

static const struct websocket_events busy_events = {
    .on_message = on_message, .is_busy = on_busy, .on_closed = on_closed};

static inline void accept_with(struct request *r, const struct websocket_events *events)
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

static inline void echo(struct request *r)
{
    accept_with(r, &echo_events);
}

static inline void pinged(struct request *r)
{
    accept_with(r, &pinged_events);
}

static inline void small(struct request *r)
{
    accept_with(r, &small_events);
}

static inline void busy(struct request *r)
{
    accept_with(r, &busy_events);
}

/* Takes one message at a time: the next one only after a deadline has passed. */
static struct deadline next_message;
static struct websocket *paused;
static atomic_uint unpaused_n; /* messages that came while it was paused */

static inline void on_next_message(struct deadline *deadline)
{
    (void)deadline;
    if (paused != NULL)
        websocket_resume(paused);
}

static inline void on_paused_message(struct websocket *ws, void *arg, struct str text)
{
    (void)arg;
    if (deadline_is_set(&next_message))
        atomic_fetch_add(&unpaused_n, 1);
    websocket_pause(ws);
    require(websocket_send(ws, text));
    loop_set_deadline(&fixture.loop, &next_message, 1);
}

static inline void on_paused_closed(struct websocket *ws, void *arg, unsigned code)
{
    paused = NULL;
    on_closed(ws, arg, code);
}

static inline void pausing(struct request *r)
{
    static const struct websocket_events events = {.on_message = on_paused_message,
                                                   .on_closed = on_paused_closed};
    paused = websocket_accept(r, &events, &closed);
    require(paused != NULL);
    next_message.on_expire = on_next_message;
    atomic_fetch_add(&accepted_n, 1);
}

/* Sends a number each time that the one before is written, up to 3,000. */
static inline void on_pages_idle(struct websocket *ws, void *arg)
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

static inline void pages(struct request *r)
{
    struct websocket *ws = websocket_accept(r, &pages_events, &closed);
    require(ws != NULL);
    atomic_fetch_add(&accepted_n, 1);
    require(websocket_send(ws, STR("pages")));
}

/* Takes all the time of a pass for each message. */
static char working_order[400]; /* m: a message was handled, t: a turn of the loop has ended */

static inline void note_order(char what)
{
    size_t n = strlen(working_order);
    if (n + 1 < sizeof working_order)
        working_order[n] = what;
}

static inline void on_work(struct websocket *ws, void *arg, struct str text)
{
    (void)arg;
    for (uint64_t end_us = clock_thread_us() + PASS_US; clock_thread_us() < end_us;)
        ;
    note_order('m');
    require(websocket_send(ws, text));
}

static inline void working(struct request *r)
{
    static const struct websocket_events events = {.on_message = on_work, .on_closed = on_closed};
    accept_with(r, &events);
}

enum { CONNECTIONS_MAX = 160, SHARE = CONNECTIONS_MAX / 4 };

/* Sockets of two crowds, and of one other client, who are told apart by the path. All that is sent
 * in one callback waits until its end. */
static struct websocket *crowds[2][SHARE], *bystander;
static size_t crowd_ns[2];
static unsigned crowd_sent_n, other_sent_n; /* messages of MESSAGE_MAX */

static inline void on_crowd_message(struct websocket *ws, void *arg, struct str text)
{
    (void)ws, (void)arg, (void)text;
    for (unsigned i = 0; i < 2; i++)
        for (size_t k = 0; k < crowd_ns[i]; k++)
            while (websocket_send(crowds[i][k], (struct str){big, MESSAGE_MAX}))
                crowd_sent_n += i == 0;
    while (other_sent_n < 4 && websocket_send(bystander, (struct str){big, MESSAGE_MAX}))
        other_sent_n++;
    sem_post(&full);
}

static inline void crowd(struct request *r)
{
    static const struct websocket_events events = {.on_message = on_crowd_message,
                                                   .on_closed = on_closed};
    r->peer = request_param(r, "who");
    struct websocket *ws = websocket_accept(r, &events, &closed);
    require(ws != NULL);
    atomic_fetch_add(&accepted_n, 1);
    if (str_eq(r->peer, STR("other"))) {
        bystander = ws;
    } else {
        unsigned i = str_eq(r->peer, STR("first")) ? 0 : 1;
        crowds[i][crowd_ns[i]++] = ws;
    }
}

static const struct route routes[] = {
    {"GET", "/working", ROLES_NONE, working},
    {"GET", "/echo", ROLES_NONE, echo},
    {"GET", "/pages", ROLES_NONE, pages},
    {"GET", "/pinged", ROLES_NONE, pinged},
    {"GET", "/small", ROLES_NONE, small},
    {"GET", "/busy", ROLES_NONE, busy},
    {"GET", "/pausing", ROLES_NONE, pausing},
    {"GET", "/crowd", ROLES_NONE, crowd},
    {0},
};

static const struct server_config config = {.wire.connections_max = CONNECTIONS_MAX,
                                            .cors_origins = "https://a.example,https://b.example",
                                            .trusted_proxies = "",
                                            .body_max_bytes = 4096,
                                            .wire.header_max_bytes = 32768,
                                            .wire.idle_ms = 30000};

/* --- the peer's side -------------------------------------------------------------------------- */

#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define UPGRADE "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"

static char head[8192];

static inline int shake_hands(const char *path)
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

/* Puts a frame; masked unless stated otherwise. Returns its size. */
static inline size_t put_frame(unsigned char *to, int first, const void *bytes, size_t n,
                               bool is_masked)
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

static inline void send_frame(int fd, int first, const void *bytes, size_t n)
{
    static unsigned char frame[FRAME_MAX];
    fixture_write(fd, frame, put_frame(frame, first, bytes, n, true));
}

static inline void send_text(int fd, const char *text)
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
static inline bool read_frame(int fd)
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

static inline void expect_text(int fd, const char *text, size_t n)
{
    assert_true(read_frame(fd));
    assert_int_equal(got.first, FIN | TEXT);
    assert_int_equal(got.n, n);
    assert_memory_equal(got.bytes, text, n);
}

static inline void expect_close(int fd, unsigned code)
{
    assert_true(read_frame(fd));
    assert_int_equal(got.first, FIN | CLOSE);
    assert_true(got.n >= 2);
    assert_int_equal((unsigned char)got.bytes[0] << 8 | (unsigned char)got.bytes[1], code);
}

static inline void await(sem_t *happened)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    assert_int_equal(sem_timedwait(happened, &until), 0);
}

static inline void expect_gone(int fd, unsigned code)
{
    close(fd);
    await(&closed);
    assert_int_equal(atomic_load(&closed_code), code);
    assert_int_equal(atomic_load(&closed_n), atomic_load(&accepted_n));
}

static inline void echoes(int fd, const char *text)
{
    send_text(fd, text);
    expect_text(fd, text, strlen(text));
}

static inline int set_up(void **state)
{
    (void)state;
    memset(big, 'x', sizeof big);
    sem_init(&closed, 0, 0);
    sem_init(&full, 0, 0);
    fixture_start(&config, routes);
    return 0;
}

#endif
