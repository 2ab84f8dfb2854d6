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
#include "shared/http/client/client.h"
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
    CURL *curl, *own_curl;        /* own_curl: of websocket_client_open */
    struct http_call *connection; /* of websocket_client_start */
    int fd;                       /* -1: it connects */
    struct buf request;
    size_t request_at;
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

enum step { STEP_WRITE, STEP_READ, STEP_OPEN, STEP_FAILED };

static enum step send_request(struct websocket_client *c, struct websocket_client_fault *fault)
{
    while (c->request_at < c->request.n) {
        size_t sent = 0;
        CURLcode code = curl_easy_send(c->curl, c->request.at + c->request_at,
                                       c->request.n - c->request_at, &sent);
        c->request_at += sent;
        if (code == CURLE_AGAIN)
            return STEP_WRITE;
        if (code != CURLE_OK) {
            fail(fault, 0, STR("the connection was closed during the handshake"));
            return STEP_FAILED;
        }
    }
    return STEP_READ;
}

/* Reads until there are `n` bytes, or a whole head for n == 0. */
static enum step read_input(struct websocket_client *c, size_t n)
{
    while (n == 0 ? head_end(&c->input) == 0 : c->input.n < n) {
        char *room = buf_reserve(&c->input, READ_BYTES);
        ssize_t got = room == NULL ? -1 : receive(c, room, READ_BYTES);
        if (got < 0)
            return STEP_FAILED;
        if (got == 0)
            return STEP_READ;
        c->input.n += (size_t)got;
    }
    return STEP_OPEN;
}

/* The body of a refusal says why, if it is one of Parley's. */
static void refuse(struct websocket_client *c, int status, size_t body_at,
                   struct websocket_client_fault *fault)
{
    char unread[128];
    json_t *problem = NULL;
    struct str body = {c->input.at + body_at, c->input.n - body_at};
    if (!json_parse(body, unread, sizeof unread, &problem))
        problem = NULL;
    struct str detail = json_member_str(problem, "detail");
    fail(fault, status, detail.at == NULL ? STR("not a WebSocket of a Parley node") : detail);
    json_decref(problem);
}

static enum step read_refusal(struct websocket_client *c, int status, size_t body_at,
                              struct websocket_client_fault *fault)
{
    uint64_t length;
    struct str head = {c->input.at, body_at};
    if (!str_parse_u64(header(head, "content-length"), &length) || length > HEAD_MAX_BYTES / 2)
        length = 0;
    if (read_input(c, body_at + length) == STEP_READ)
        return STEP_READ;
    refuse(c, status, body_at, fault);
    return STEP_FAILED;
}

static enum step read_response(struct websocket_client *c, struct websocket_client_fault *fault)
{
    int status = 0;
    enum step step = read_input(c, 0);
    if (step == STEP_READ)
        return step;
    if (step == STEP_FAILED || sscanf(c->input.at, "HTTP/1.%*1d %3d", &status) != 1) {
        fail(fault, 0,
             step == STEP_FAILED ? STR("no response to the handshake")
                                 : STR("what responds does not speak HTTP/1.1"));
        return STEP_FAILED;
    }
    size_t end = head_end(&c->input);
    if (status != SWITCHING)
        return read_refusal(c, status, end, fault);
    if (!is_accepted(c, (struct str){c->input.at, end})) {
        fail(fault, status, STR("the handshake was not accepted as RFC 6455 has it"));
        return STEP_FAILED;
    }
    c->input_at = end;
    return STEP_OPEN;
}

static void begin_frames(struct websocket_client *c)
{
    size_t most = c->settings->message_max_bytes;
    if (wslay_event_context_client_init(&c->wslay, &callbacks, c) != 0)
        abort();
    wslay_event_config_set_max_recv_msg_length(c->wslay, most == 0 ? MESSAGE_MAX_BYTES : most);
}

/* Does what can be done of the handshake without waiting. */
static enum step shake_hands(struct websocket_client *c, struct websocket_client_fault *fault)
{
    enum step step = send_request(c, fault);
    if (step == STEP_READ)
        step = read_response(c, fault);
    if (step == STEP_OPEN)
        begin_frames(c);
    return step;
}

static struct websocket_client *create(const struct websocket_client_settings *settings,
                                       const char *url)
{
    struct websocket_client *c = mem_zeroed(sizeof *c);
    c->settings = settings;
    c->fd = -1;
    c->heard_ms = clock_mono_ms();
    buf_init(&c->input, HEAD_MAX_BYTES);
    buf_init(&c->request, HEAD_MAX_BYTES);
    put_request(&c->request, c, str_of(url));
    return c;
}

struct websocket_client *websocket_client_open(const struct websocket_client_settings *settings,
                                               const char *url,
                                               struct websocket_client_fault *ret_fault)
{
    struct websocket_client *c = create(settings, url);
    uint64_t now_ms, end_ms = clock_mono_ms() + settings->open_within_ms;
    if ((c->curl = c->own_curl = curl_easy_init()) == NULL)
        abort();
    enum step step = connect_to(c, url, ret_fault) ? STEP_WRITE : STEP_FAILED;
    while (step != STEP_FAILED && (step = shake_hands(c, ret_fault)) < STEP_OPEN) {
        struct pollfd fd = {.fd = c->fd, .events = step == STEP_READ ? POLLIN : POLLOUT};
        now_ms = clock_mono_ms();
        if (now_ms < end_ms && settings->wait(settings->context, &fd, (int)(end_ms - now_ms)))
            continue;
        fail(ret_fault, 0, STR("no response to the handshake"));
        step = STEP_FAILED;
    }
    if (step == STEP_OPEN)
        return c;
    websocket_client_close(c);
    return NULL;
}

static void report(struct websocket_client *c, const struct websocket_client_fault *fault)
{
    c->is_over = c->is_over || fault != NULL;
    c->settings->on_open(c->settings->context, fault);
}

static void on_connected(void *context, const struct http_response *response)
{
    struct websocket_client *c = context;
    struct websocket_client_fault fault = {.status = 0};
    curl_socket_t fd = CURL_SOCKET_BAD;
    if (response->outcome != HTTP_ANSWERED) {
        c->connection = NULL;
        fail(&fault, 0, str_of(response->reason));
        report(c, &fault);
        return;
    }
    c->curl = http_call_curl(c->connection);
    if (curl_easy_getinfo(c->curl, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK || fd == CURL_SOCKET_BAD)
        abort();
    c->fd = fd;
}

struct websocket_client *websocket_client_start(const struct websocket_client_settings *settings,
                                                struct http_client *http, const char *url)
{
    static const struct http_events events = {.on_done = on_connected};
    struct websocket_client *c = create(settings, url);
    struct http_request request = {.url = url, .is_connection = true};
    c->connection = http_call_start(http, &request, &events, c);
    return c;
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
    bool wants = c->wslay == NULL ? c->request_at < c->request.n : wslay_event_want_write(c->wslay);
    short out = wants ? POLLOUT : 0;
    return (struct pollfd){.fd = c->fd, .events = (short)(POLLIN | out)};
}

/* The handshake of websocket_client_start. */
static bool open_further(struct websocket_client *c)
{
    struct websocket_client_fault fault = {.status = 0};
    enum step step = shake_hands(c, &fault);
    if (step >= STEP_OPEN)
        report(c, step == STEP_OPEN ? NULL : &fault);
    return !c->is_over;
}

bool websocket_client_turn(struct websocket_client *c)
{
    if (c->is_over || c->fd < 0)
        return !c->is_over;
    if (c->wslay == NULL && !open_further(c))
        return false;
    if (c->wslay == NULL)
        return true;
    bool ok = wslay_event_recv(c->wslay) == 0;
    if (wslay_event_want_write(c->wslay))
        ok = wslay_event_send(c->wslay) == 0 && ok;
    c->is_over = c->is_over || !ok || wslay_event_get_close_received(c->wslay);
    return !c->is_over;
}

size_t websocket_client_queued_bytes(const struct websocket_client *c)
{
    return wslay_event_get_queued_msg_length(c->wslay);
}

uint64_t websocket_client_heard_ms(const struct websocket_client *c)
{
    return c->heard_ms;
}

unsigned websocket_client_code(const struct websocket_client *c)
{
    return c->wslay != NULL && wslay_event_get_close_received(c->wslay)
               ? wslay_event_get_status_code_received(c->wslay)
               : CUT_OFF;
}

void websocket_client_finish(struct websocket_client *c)
{
    if (wslay_event_queue_close(c->wslay, WSLAY_CODE_NORMAL_CLOSURE, NULL, 0) == WSLAY_ERR_NOMEM)
        abort();
}

void websocket_client_close(struct websocket_client *c)
{
    if (c == NULL)
        return;
    if (c->wslay != NULL && !c->is_over &&
        wslay_event_queue_close(c->wslay, WSLAY_CODE_NORMAL_CLOSURE, NULL, 0) == 0)
        (void)!wslay_event_send(c->wslay);
    wslay_event_context_free(c->wslay);
    http_call_cancel(c->connection);
    curl_easy_cleanup(c->own_curl);
    buf_fini(&c->request);
    buf_fini(&c->input);
    free(c);
}
