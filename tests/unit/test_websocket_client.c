/* SPDX-License-Identifier: MIT
 * test_websocket_client.c - a WebSocket that opens without waiting, against a server on a thread
 * that writes bytes. */
#include "shared/http/client/client.h"
#include "shared/http/client/websocket_client.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { WAIT_MS = 20000, HEAD_BYTES = 8192, LONG_BYTES = 40000 };

static int listener;
static char base[64];

/* --- the server ------------------------------------------------------------------------------- */

static void write_all(int fd, const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t wrote = write(fd, (const char *)bytes + done, n - done);
        if (wrote <= 0)
            return;
        done += (size_t)wrote;
    }
}

static void write_text(int fd, const char *text)
{
    write_all(fd, text, strlen(text));
}

static bool read_all(int fd, void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = read(fd, (char *)bytes + done, n - done);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static bool read_head(int fd, char head[HEAD_BYTES])
{
    size_t n = 0;
    while (n < HEAD_BYTES - 1 && read_all(fd, head + n, 1)) {
        head[++n] = 0;
        if (n >= 4 && strcmp(head + n - 4, "\r\n\r\n") == 0)
            return true;
    }
    return false;
}

/* RFC 6455, 4.2.2. */
static void put_accept(const char *head, char accept[64])
{
    char joined[128];
    unsigned char hash[SHA_DIGEST_LENGTH];
    const char *key = strstr(head, "Sec-WebSocket-Key: ");
    assert_non_null(key);
    int n = snprintf(joined, sizeof joined, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11",
                     key + strlen("Sec-WebSocket-Key: "));
    SHA1((unsigned char *)joined, (size_t)n, hash);
    EVP_EncodeBlock((unsigned char *)accept, hash, sizeof hash);
}

/* Echoes short frames, whatever they are, until the client closes. A text "long" is answered with
 * LONG_BYTES of text instead. */
static void echo(int fd)
{
    unsigned char head[6], text[125];
    while (read_all(fd, head, sizeof head)) {
        size_t n = head[1] & 0x7f;
        assert_in_range(n, 0, sizeof text);
        assert_true(head[1] & 0x80);
        if (!read_all(fd, text, n))
            return;
        for (size_t i = 0; i < n; i++)
            text[i] ^= head[2 + i % 4];
        if (n == 4 && memcmp(text, "long", 4) == 0) {
            static char letters[LONG_BYTES];
            memset(letters, 'x', sizeof letters);
            write_all(fd, (unsigned char[]){0x81, 126, LONG_BYTES >> 8, LONG_BYTES & 0xff}, 4);
            write_all(fd, letters, sizeof letters);
            continue;
        }
        head[1] = (unsigned char)n;
        write_all(fd, head, 2);
        write_all(fd, text, n);
    }
}

static void serve(int fd)
{
    char head[HEAD_BYTES], accept[64];
    if (!read_head(fd, head))
        return;
    if (strncmp(head, "GET /open", 9) == 0) {
        put_accept(head, accept);
        write_text(fd, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nsec-webso");
        write_text(fd, "cket-accept: ");
        write_text(fd, accept);
        write_all(fd, "\r\n\r\n\x81\x05hello", 11); /* the first frame comes with the head */
        echo(fd);
    } else if (strncmp(head, "GET /cut", 8) == 0) {
        write_text(fd, "HTTP/1.1 101 Switching");
    } else if (strncmp(head, "GET /wrong", 10) == 0) {
        write_text(fd, "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: b29k\r\n\r\n");
    } else if (strncmp(head, "GET /refused", 12) == 0) {
        write_text(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 27\r\n\r\n{\"detail\":");
        write_text(fd, "\"No such route.\"}");
    } else { /* /never: until the client leaves */
        (void)!read(fd, head, sizeof head);
    }
}

static void *run_server(void *context)
{
    int fd;
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        serve(fd);
        close(fd);
    }
    return context;
}

static int start_server(void **state)
{
    static pthread_t thread;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 8), 0);
    getsockname(listener, (struct sockaddr *)&address, &size);
    snprintf(base, sizeof base, "http://127.0.0.1:%d", ntohs(address.sin_port));
    return pthread_create(&thread, NULL, run_server, NULL);
}

/* --- the client ------------------------------------------------------------------------------- */

struct peer {
    struct websocket_client_settings settings;
    struct http_client *http;
    struct websocket_client *socket;
    bool was_reported, is_open, is_over;
    struct websocket_client_fault fault;
    struct buf texts; /* each with a line's end */
};

static void on_open(void *context, const struct websocket_client_fault *fault)
{
    struct peer *peer = context;
    assert_false(peer->was_reported);
    peer->was_reported = true;
    peer->is_open = fault == NULL;
    if (fault != NULL)
        peer->fault = *fault;
}

static void on_text(void *context, struct str text)
{
    struct peer *peer = context;
    assert_true(peer->is_open);
    buf_put(&peer->texts, text);
    buf_put_char(&peer->texts, '\n');
}

static void begin(struct peer *peer, const char *url)
{
    *peer = (struct peer){.settings = {.user_agent = "test",
                                       .message_max_bytes = 2 * LONG_BYTES,
                                       .on_open = on_open,
                                       .on_text = on_text,
                                       .context = peer},
                          .http = http_client_create(NULL)};
    buf_init(&peer->texts, 4 * LONG_BYTES);
    peer->socket = websocket_client_start(&peer->settings, peer->http, url);
    assert_false(peer->was_reported);
}

static void begin_at(struct peer *peer, const char *path)
{
    char url[128];
    snprintf(url, sizeof url, "%s%s", base, path);
    begin(peer, url);
}

static void turn(struct peer *peer)
{
    struct pollfd fds[] = {{.fd = http_client_fd(peer->http), .events = POLLIN},
                           websocket_client_poll(peer->socket)};
    assert_true(poll(fds, 2, WAIT_MS) > 0);
    http_client_turn(peer->http);
    peer->is_over = !websocket_client_turn(peer->socket);
}

static void wait_for_report(struct peer *peer)
{
    while (!peer->was_reported)
        turn(peer);
}

static void wait_for_text(struct peer *peer, size_t bytes)
{
    while (peer->texts.n < bytes) {
        assert_false(peer->is_over);
        turn(peer);
    }
}

static void end(struct peer *peer)
{
    websocket_client_close(peer->socket);
    http_client_destroy(peer->http);
    buf_fini(&peer->texts);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_opens_and_talks(void **state)
{
    struct peer peer;
    (void)state;
    begin_at(&peer, "/open?a=b");
    wait_for_report(&peer);
    assert_true(peer.is_open);
    wait_for_text(&peer, 6);
    websocket_client_send(peer.socket, STR("one"));
    websocket_client_send(peer.socket, STR("two"));
    assert_int_equal(websocket_client_queued_bytes(peer.socket), 6);
    wait_for_text(&peer, 14);
    assert_int_equal(websocket_client_queued_bytes(peer.socket), 0);
    assert_true(str_eq(buf_str(&peer.texts), STR("hello\none\ntwo\n")));
    websocket_client_send(peer.socket, STR("long"));
    wait_for_text(&peer, 14 + LONG_BYTES + 1);
    end(&peer);
}

/* What the server sends before it closes its side still arrives. */
static void test_finishes_in_order(void **state)
{
    struct peer peer;
    (void)state;
    begin_at(&peer, "/open");
    wait_for_report(&peer);
    websocket_client_send(peer.socket, STR("last"));
    turn(&peer);
    websocket_client_finish(peer.socket);
    while (!peer.is_over)
        turn(&peer);
    assert_true(str_eq(buf_str(&peer.texts), STR("hello\nlast\n")));
    assert_int_equal(websocket_client_code(peer.socket), 1000);
    end(&peer);
}

static void expect_fault(const char *path, int status, const char *reason)
{
    struct peer peer;
    begin_at(&peer, path);
    wait_for_report(&peer);
    assert_false(peer.is_open);
    assert_true(peer.is_over || !websocket_client_turn(peer.socket));
    assert_int_equal(peer.fault.status, status);
    assert_string_equal(peer.fault.reason, reason);
    assert_int_equal(websocket_client_code(peer.socket), 1006);
    end(&peer);
}

static void test_says_why_it_is_not_open(void **state)
{
    (void)state;
    expect_fault("/refused", 404, "No such route.");
    expect_fault("/wrong", 101, "the handshake was not accepted as RFC 6455 has it");
    expect_fault("/cut", 0, "no response to the handshake");
}

static void test_says_that_nobody_listens(void **state)
{
    struct peer peer;
    (void)state;
    begin(&peer, "http://127.0.0.1:1/ws");
    wait_for_report(&peer);
    assert_false(peer.is_open);
    assert_int_equal(peer.fault.status, 0);
    assert_non_null(strstr(peer.fault.reason, "127.0.0.1"));
    end(&peer);
}

/* While it connects, and while it waits for the response. */
static void test_can_be_closed_at_any_time(void **state)
{
    struct peer peer;
    (void)state;
    begin_at(&peer, "/never");
    end(&peer);
    begin_at(&peer, "/never");
    while (websocket_client_poll(peer.socket).fd < 0)
        turn(&peer);
    end(&peer);
    begin_at(&peer, "/never");
    while (websocket_client_poll(peer.socket).events != POLLIN)
        turn(&peer);
    assert_false(peer.was_reported);
    end(&peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opens_and_talks),
        cmocka_unit_test(test_finishes_in_order),
        cmocka_unit_test(test_says_why_it_is_not_open),
        cmocka_unit_test(test_says_that_nobody_listens),
        cmocka_unit_test(test_can_be_closed_at_any_time),
    };
    return cmocka_run_group_tests(tests, start_server, NULL);
}
