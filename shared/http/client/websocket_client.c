/* SPDX-License-Identifier: MIT
 * websocket_client.c - see websocket_client.h. libcurl's own WebSockets are experimental and not
 * built into Debian 12's; CURLOPT_CONNECT_ONLY gives a connection, with TLS if need be, on which
 * curl_easy_send and curl_easy_recv move bytes without waiting. */
#include "shared/http/client/websocket_client.h"

#include "shared/base/clock.h"
#include "shared/base/json.h"
#include "shared/base/mem.h"
#include "shared/base/shown.h"
#include "shared/base/trust.h"
#include "shared/http/client/client_reason.h"

#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <poll.h>
#include <stdio.h>
#include <strings.h>
#include <wslay/wslay.h>

enum {
    HEAD_MAX_BYTES = 64 << 10,
    MESSAGE_MAX_BYTES = 1 << 20,
    KEY_BYTES = 24, /* base64 of 16 */
    READ_BYTES = 16 << 10,
    SWITCHING = 101,
    CUT_OFF = 1006
};

struct websocket_client {
    const struct websocket_client_settings *settings;
    CURL *curl;
    int fd;
    wslay_event_context_ptr wslay;
    struct buf input; /* the response, and what came along with it */
    size_t input_at;
    uint64_t heard_ms;
    bool is_over;
    char key[KEY_BYTES + 1];
    char reason[CURL_ERROR_SIZE];
};

/* --- bytes ------------------------------------------------------------------------------------ */

/* The number of bytes, 0: none for now, -1: it is over. */
static ssize_t receive(struct websocket_client *c, void *bytes, size_t n)
{
    size_t got = 0;
    CURLcode code = curl_easy_recv(c->curl, bytes, n, &got);
    if (code == CURLE_AGAIN)
        return 0;
    if (code != CURLE_OK || got == 0) {
        c->is_over = true;
        return -1;
    }
    c->heard_ms = clock_mono_ms();
    return (ssize_t)got;
}

static ssize_t on_wants_bytes(wslay_event_context_ptr wslay, uint8_t *bytes, size_t n, int flags,
                              void *arg)
{
    struct websocket_client *c = arg;
    (void)flags;
    size_t left = c->input.n - c->input_at;
    if (left > 0) {
        n = n < left ? n : left;
        memcpy(bytes, c->input.at + c->input_at, n);
        c->input_at += n;
        return (ssize_t)n;
    }
    ssize_t got = c->is_over ? -1 : receive(c, bytes, n);
    if (got > 0)
        return got;
    wslay_event_set_error(wslay, WSLAY_ERR_WOULDBLOCK);
    return -1;
}

static ssize_t on_has_bytes(wslay_event_context_ptr wslay, const uint8_t *bytes, size_t n,
                            int flags, void *arg)
{
    struct websocket_client *c = arg;
    size_t sent = 0;
    (void)flags;
    CURLcode code = curl_easy_send(c->curl, bytes, n, &sent);
    if (code == CURLE_OK)
        return (ssize_t)sent;
    c->is_over = c->is_over || code != CURLE_AGAIN;
    wslay_event_set_error(wslay, WSLAY_ERR_WOULDBLOCK);
    return -1;
}

static int on_mask(wslay_event_context_ptr wslay, uint8_t *bytes, size_t n, void *arg)
{
    (void)wslay, (void)arg;
    return RAND_bytes(bytes, (int)n) == 1 ? 0 : -1;
}

static void on_message(wslay_event_context_ptr wslay,
                       const struct wslay_event_on_msg_recv_arg *message, void *arg)
{
    struct websocket_client *c = arg;
    (void)wslay;
    if (message->opcode == WSLAY_TEXT_FRAME)
        c->settings->on_text(c->settings->context,
                             (struct str){message->msg == NULL ? "" : (const char *)message->msg,
                                          message->msg_length});
}

static const struct wslay_event_callbacks callbacks = {.recv_callback = on_wants_bytes,
                                                       .send_callback = on_has_bytes,
                                                       .genmask_callback = on_mask,
                                                       .on_msg_recv_callback = on_message};

/* --- opening ---------------------------------------------------------------------------------- */

static bool fail(struct websocket_client_fault *fault, int status, struct str text)
{
    struct buf shown;
    buf_init(&shown, 3 * HEAD_MAX_BYTES);
    buf_put_shown(&shown, text);
    fault->status = status;
    snprintf(fault->reason, sizeof fault->reason, "%.*s", STR_ARG(buf_str(&shown)));
    buf_fini(&shown);
    return false;
}

static bool connect_to(struct websocket_client *c, const char *url,
                       struct websocket_client_fault *fault)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    CURL *curl = c->curl;
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 1L);
    if (trust_file() != NULL)
        curl_easy_setopt(curl, CURLOPT_CAINFO, trust_file());
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, c->reason);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)c->settings->open_within_ms);
    CURLcode code = curl_easy_perform(curl);
    if (code == CURLE_OK && curl_easy_getinfo(curl, CURLINFO_ACTIVESOCKET, &fd) == CURLE_OK &&
        fd != CURL_SOCKET_BAD) {
        c->fd = fd;
        return true;
    }
    char reason[CLIENT_REASON_BYTES];
    client_put_reason(curl, code, c->reason, reason);
    return fail(fault, 0, str_of(reason));
}

/* Path and query of a URL that libcurl has accepted. */
static struct str target_of(struct str url)
{
    str_cut(&url, ':');
    struct str rest = {url.at + 2, url.n - 2};
    for (size_t i = 0; i < rest.n; i++)
        if (rest.at[i] == '/')
            return (struct str){rest.at + i, rest.n - i};
    return STR("/");
}

static struct str host_of(struct str url)
{
    str_cut(&url, ':');
    struct str rest = {url.at + 2, url.n - 2};
    size_t n = 0;
    while (n < rest.n && rest.at[n] != '/')
        n++;
    return (struct str){rest.at, n};
}

static void put_request(struct buf *b, struct websocket_client *c, struct str url)
{
    unsigned char bytes[16];
    if (RAND_bytes(bytes, sizeof bytes) != 1)
        abort();
    EVP_EncodeBlock((unsigned char *)c->key, bytes, sizeof bytes);
    buf_printf(b,
               "GET %.*s HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: %s\r\nConnection: Upgrade\r\n"
               "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n",
               STR_ARG(target_of(url)), STR_ARG(host_of(url)), c->settings->user_agent, c->key);
}

static bool wait_for(struct websocket_client *c, short events, uint64_t end_ms)
{
    struct pollfd fd = {.fd = c->fd, .events = events};
    uint64_t now_ms = clock_mono_ms();
    return now_ms < end_ms && c->settings->wait(c->settings->context, &fd, (int)(end_ms - now_ms));
}

static bool send_request(struct websocket_client *c, const char *url, uint64_t end_ms)
{
    struct buf request;
    bool ok = true;
    buf_init(&request, HEAD_MAX_BYTES);
    put_request(&request, c, str_of(url));
    for (size_t at = 0; ok && at < request.n;) {
        size_t sent = 0;
        CURLcode code = curl_easy_send(c->curl, request.at + at, request.n - at, &sent);
        at += sent;
        ok = code == CURLE_OK || (code == CURLE_AGAIN && wait_for(c, POLLOUT, end_ms));
    }
    ok = ok && !request.is_over;
    buf_fini(&request);
    return ok;
}

/* Where the body begins; 0: the head is not there yet. */
static size_t head_end(const struct buf *input)
{
    for (size_t i = 4; i <= input->n; i++)
        if (memcmp(input->at + i - 4, "\r\n\r\n", 4) == 0)
            return i;
    return 0;
}

static struct str header(struct str head, const char *name)
{
    while (head.at != NULL) {
        struct str line = str_cut(&head, '\n');
        struct str before = str_cut(&line, ':');
        if (before.n == strlen(name) && strncasecmp(before.at, name, before.n) == 0)
            return str_trim(line);
    }
    return (struct str){NULL, 0};
}

static bool is_accepted(const struct websocket_client *c, struct str head)
{
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455, 1.3 */
    unsigned char joined[KEY_BYTES + sizeof guid - 1], hash[SHA_DIGEST_LENGTH];
    unsigned char text[(SHA_DIGEST_LENGTH + 2) / 3 * 4 + 1];
    memcpy(joined, c->key, KEY_BYTES);
    memcpy(joined + KEY_BYTES, guid, sizeof guid - 1);
    SHA1(joined, sizeof joined, hash);
    EVP_EncodeBlock(text, hash, sizeof hash);
    return str_eq(header(head, "sec-websocket-accept"), str_of((const char *)text));
}

/* False: it is over, or nothing came in time. */
static bool read_more(struct websocket_client *c, uint64_t end_ms)
{
    char *room = buf_reserve(&c->input, READ_BYTES);
    ssize_t got = room == NULL ? -1 : receive(c, room, READ_BYTES);
    if (got > 0)
        c->input.n += (size_t)got;
    return got > 0 || (got == 0 && wait_for(c, POLLIN, end_ms));
}

/* The body of a refusal says why, if it is one of Parley's. */
static bool refuse(struct websocket_client *c, int status, size_t body_at, uint64_t end_ms,
                   struct websocket_client_fault *fault)
{
    struct str head = {c->input.at, body_at};
    char unread[128];
    uint64_t length;
    json_t *problem = NULL;
    if (!str_parse_u64(header(head, "content-length"), &length) || length > HEAD_MAX_BYTES / 2)
        length = 0;
    while (c->input.n < body_at + length && read_more(c, end_ms))
        ;
    struct str body = {c->input.at + body_at, c->input.n - body_at};
    if (!json_parse(body, unread, sizeof unread, &problem))
        problem = NULL;
    struct str detail = json_member_str(problem, "detail");
    fail(fault, status, detail.at == NULL ? STR("not a WebSocket of a Parley node") : detail);
    json_decref(problem);
    return false;
}

static bool read_response(struct websocket_client *c, uint64_t end_ms,
                          struct websocket_client_fault *fault)
{
    size_t end;
    int status = 0;
    while ((end = head_end(&c->input)) == 0)
        if (!read_more(c, end_ms))
            return fail(fault, 0, STR("no response to the handshake"));
    if (sscanf(c->input.at, "HTTP/1.%*1d %3d", &status) != 1)
        return fail(fault, 0, STR("what responds does not speak HTTP/1.1"));
    if (status != SWITCHING)
        return refuse(c, status, end, end_ms, fault);
    if (!is_accepted(c, (struct str){c->input.at, end}))
        return fail(fault, status, STR("the handshake was not accepted as RFC 6455 has it"));
    c->input_at = end;
    return true;
}

struct websocket_client *websocket_client_open(const struct websocket_client_settings *settings,
                                               const char *url,
                                               struct websocket_client_fault *ret_fault)
{
    struct websocket_client *c = mem_zeroed(sizeof *c);
    uint64_t end_ms = clock_mono_ms() + settings->open_within_ms;
    if ((c->curl = curl_easy_init()) == NULL)
        abort();
    c->settings = settings;
    c->heard_ms = clock_mono_ms();
    buf_init(&c->input, HEAD_MAX_BYTES);
    bool ok = connect_to(c, url, ret_fault);
    if (ok && !send_request(c, url, end_ms))
        ok = fail(ret_fault, 0, STR("the connection was closed during the handshake"));
    ok = ok && read_response(c, end_ms, ret_fault);
    if (ok && wslay_event_context_client_init(&c->wslay, &callbacks, c) != 0)
        abort();
    if (ok) {
        wslay_event_config_set_max_recv_msg_length(c->wslay, MESSAGE_MAX_BYTES);
        return c;
    }
    websocket_client_close(c);
    return NULL;
}

/* --- open ------------------------------------------------------------------------------------- */

void websocket_client_send(struct websocket_client *c, struct str text)
{
    const struct wslay_event_msg message = {
        .opcode = WSLAY_TEXT_FRAME, .msg = (const uint8_t *)text.at, .msg_length = text.n};
    if (wslay_event_queue_msg(c->wslay, &message) == WSLAY_ERR_NOMEM)
        abort();
}

struct pollfd websocket_client_poll(const struct websocket_client *c)
{
    short out = wslay_event_want_write(c->wslay) ? POLLOUT : 0;
    return (struct pollfd){.fd = c->fd, .events = (short)(POLLIN | out)};
}

bool websocket_client_turn(struct websocket_client *c)
{
    bool ok = wslay_event_recv(c->wslay) == 0;
    if (wslay_event_want_write(c->wslay))
        ok = wslay_event_send(c->wslay) == 0 && ok;
    c->is_over = c->is_over || !ok || wslay_event_get_close_received(c->wslay);
    return !c->is_over;
}

uint64_t websocket_client_heard_ms(const struct websocket_client *c)
{
    return c->heard_ms;
}

unsigned websocket_client_code(const struct websocket_client *c)
{
    return wslay_event_get_close_received(c->wslay) ? wslay_event_get_status_code_received(c->wslay)
                                                    : CUT_OFF;
}

void websocket_client_close(struct websocket_client *c)
{
    if (c == NULL)
        return;
    if (c->wslay != NULL && !c->is_over &&
        wslay_event_queue_close(c->wslay, WSLAY_CODE_NORMAL_CLOSURE, NULL, 0) == 0)
        (void)!wslay_event_send(c->wslay);
    wslay_event_context_free(c->wslay);
    curl_easy_cleanup(c->curl);
    buf_fini(&c->input);
    free(c);
}
