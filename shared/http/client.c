/* SPDX-License-Identifier: MIT
 * client.c - see client.h.
 *
 * libcurl tells which sockets it waits for and when it wants to be called again. The sockets go
 * into an epoll instance of our own, the time into a timerfd inside it; an epoll descriptor can be
 * polled itself, and so the whole client is one descriptor to its loop.
 *
 * libcurl forbids adding or removing a transfer inside its callbacks. Therefore start and cancel
 * only note what is wanted (`fresh`, `ended`) and kick the timer; the next turn carries it out.
 * That is also what keeps callbacks from running before http_call_start returns.
 *
 *   fresh --(turn: add)--> running --(finished: on_done)--> freed
 *     \________ cancel: ended __/ --(turn: remove)--------> freed
 */
#include "shared/http/client.h"

#include "shared/base/clock.h"

#include <assert.h>
#include <curl/curl.h>
#include <h2o.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    CONNECT_TIMEOUT_MS = 5000,
    BODY_MAX_BYTES = 1 << 20,
    EVENTS_PER_TURN = 64,
    /* How long sent bytes may stay unacknowledged, and how a silent peer is probed: a plug that
     * was pulled is noticed within 30 s, not when a long poll should have ended. */
    UNACKED_MAX_MS = 30000,
    KEEPALIVE_IDLE_S = 15,
    KEEPALIVE_INTERVAL_S = 5,
};

enum call_state { CALL_FRESH, CALL_RUNNING, CALL_ENDED, CALL_STATE_NR };

struct http_call {
    struct http_client *client;
    struct http_call *next, *prev;
    enum call_state state;
    CURL *easy;
    struct curl_slist *headers;
    const struct http_events *events;
    void *context;
    struct buf request_body, body;
    size_t received_bytes;
    bool is_peer_refused, is_stopped, is_too_large;
    char error[CURL_ERROR_SIZE];
};

struct http_client {
    CURLM *multi;
    int epoll_fd, timer_fd;
    struct http_client_settings settings;
    struct http_call *calls[CALL_STATE_NR]; /* lists by state */
    uint64_t due_ms;                        /* when libcurl wants a turn; 0: not at all */
    h2o_socket_t *notifier;                 /* on an h2o loop, else NULL */
};

const char *http_outcome_name(enum http_outcome outcome)
{
    static const char *const names[HTTP_OUTCOME_NR] = {
        [HTTP_ANSWERED] = "answered",   [HTTP_UNREACHABLE] = "unreachable",
        [HTTP_LOST] = "lost",           [HTTP_TIMED_OUT] = "timed out",
        [HTTP_TOO_LARGE] = "too large", [HTTP_REFUSED_PEER] = "refused peer",
        [HTTP_BAD_URL] = "bad URL",     [HTTP_STOPPED] = "stopped"};
    assert(outcome < HTTP_OUTCOME_NR);
    return names[outcome];
}

static void list_put(struct http_call *call, enum call_state state)
{
    struct http_call **head = &call->client->calls[state];
    call->state = state;
    call->prev = NULL;
    call->next = *head;
    if (*head != NULL)
        (*head)->prev = call;
    *head = call;
}

static void list_take(struct http_call *call)
{
    if (call->prev != NULL)
        call->prev->next = call->next;
    else
        call->client->calls[call->state] = call->next;
    if (call->next != NULL)
        call->next->prev = call->prev;
}

/* Takes the first call off a list; NULL when it is empty. */
static struct http_call *list_pop(struct http_client *client, enum call_state state)
{
    struct http_call *call = client->calls[state];
    if (call == NULL)
        return NULL;
    client->calls[state] = call->next;
    if (call->next != NULL)
        call->next->prev = NULL;
    return call;
}

/* ---- the timer ---- */

static void arm(struct http_client *client, uint64_t after_ms)
{
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)(after_ms / 1000),
                                           .tv_nsec = (long)(after_ms % 1000) * 1000000 + 1}};
    timerfd_settime(client->timer_fd, 0, &when, NULL);
}

static int on_curl_timer(CURLM *multi, long after_ms, void *context)
{
    struct http_client *client = context;
    if (after_ms < 0) {
        client->due_ms = 0;
        return 0;
    }
    client->due_ms = clock_mono_ms() + (uint64_t)after_ms;
    arm(client, (uint64_t)after_ms);
    return 0;
}

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *known)
{
    struct http_client *client = context;
    if (what == CURL_POLL_REMOVE) {
        /* Fails when the descriptor is closed already, and then epoll has forgotten it too. */
        epoll_ctl(client->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    struct epoll_event event = {.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) |
                                          (what & CURL_POLL_OUT ? EPOLLOUT : 0u),
                                .data.fd = fd};
    /* A number that was closed and opened again may be known to libcurl only, or to epoll only. */
    if (epoll_ctl(client->epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0)
        epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, fd, &event);
    return 0;
}

/* ---- one call ---- */

bool http_address_is_private(int family, const unsigned char *a)
{
    static const unsigned char v4_in_v6[12] = {[10] = 0xff, [11] = 0xff};
    static const unsigned char nat64[12] = {0x00, 0x64, 0xff, 0x9b};
    static const unsigned char zero[12];
    if (family == AF_INET)
        return a[0] == 0 || a[0] == 10 || a[0] == 127 || a[0] >= 224 ||
               (a[0] == 100 && (a[1] & 0xc0) == 64) || (a[0] == 169 && a[1] == 254) ||
               (a[0] == 172 && (a[1] & 0xf0) == 16) || (a[0] == 192 && a[1] == 168) ||
               (a[0] == 192 && a[1] == 0 && (a[2] == 0 || a[2] == 2)) ||
               (a[0] == 198 && (a[1] & 0xfe) == 18) || (a[0] == 198 && a[1] == 51 && a[2] == 100) ||
               (a[0] == 203 && a[1] == 0 && a[2] == 113);
    if (family != AF_INET6)
        return true;
    if (memcmp(a, v4_in_v6, 12) == 0 || memcmp(a, nat64, 12) == 0 || memcmp(a, zero, 12) == 0)
        return memcmp(a, zero, 12) == 0 || http_address_is_private(AF_INET, a + 12);
    if (a[0] == 0x20 && a[1] == 0x02) /* 6to4 carries an IPv4 address */
        return http_address_is_private(AF_INET, a + 2);
    return (a[0] & 0xe0) != 0x20 || /* outside 2000::/3, global unicast */
           (a[0] == 0x20 && a[1] == 0x01 && (a[2] & 0xfe) == 0) || /* 2001::/23, Teredo and such */
           (a[0] == 0x20 && a[1] == 0x01 && a[2] == 0x0d && a[3] == 0xb8);
}

static curl_socket_t on_curl_open(void *context, curlsocktype purpose, struct curl_sockaddr *peer)
{
    struct http_call *call = context;
    const unsigned char *address =
        peer->family == AF_INET
            ? (const unsigned char *)&((struct sockaddr_in *)(void *)&peer->addr)->sin_addr
            : (const unsigned char *)&((struct sockaddr_in6 *)(void *)&peer->addr)->sin6_addr;
    if (call->client->settings.is_refusing_private &&
        http_address_is_private(peer->family, address)) {
        call->is_peer_refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(peer->family, peer->socktype | SOCK_CLOEXEC, peer->protocol);
}

static int on_curl_sockopt(void *context, curl_socket_t fd, curlsocktype purpose)
{
    unsigned unacked_max_ms = UNACKED_MAX_MS;
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked_max_ms, sizeof unacked_max_ms);
    return CURL_SOCKOPT_OK;
}

static long status_of(CURL *easy)
{
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static struct str content_type_of(CURL *easy)
{
    char *type = NULL;
    curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
    return type == NULL ? (struct str){NULL, 0} : str_of(type);
}

static size_t on_curl_write(char *bytes, size_t size, size_t n, void *context)
{
    struct http_call *call = context;
    n *= size;
    if (call->state == CALL_ENDED)
        return 0;
    long status = status_of(call->easy);
    call->received_bytes += n;
    if (call->received_bytes > call->body.max) {
        call->is_too_large = true;
        return 0;
    }
    if (call->events->on_body == NULL || status < 200 || status > 299) {
        buf_put(&call->body, (struct str){bytes, n});
        return n;
    }
    if (!call->events->on_body(call->context, content_type_of(call->easy), (struct str){bytes, n}))
        call->is_stopped = true;
    return call->is_stopped || call->state == CALL_ENDED ? 0 : n;
}

static void free_call(struct http_call *call)
{
    curl_easy_cleanup(call->easy);
    curl_slist_free_all(call->headers);
    buf_fini(&call->request_body);
    buf_fini(&call->body);
    free(call);
}

static void set_headers(struct http_call *call, const char *const *headers)
{
    /* libcurl would hold larger bodies back for a "100 Continue" that few servers send. */
    call->headers = curl_slist_append(NULL, "Expect:");
    for (; headers != NULL && *headers != NULL; headers++)
        call->headers = curl_slist_append(call->headers, *headers);
    curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
}

static void set_connection(struct http_call *call, const struct http_client_settings *settings)
{
    CURL *easy = call->easy;
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_INTERVAL_S);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     settings->connect_timeout_ms == 0 ? (long)CONNECT_TIMEOUT_MS
                                                       : (long)settings->connect_timeout_ms);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_curl_open);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_curl_sockopt);
    if (settings->is_refusing_private)
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
    if (settings->user_agent != NULL)
        curl_easy_setopt(easy, CURLOPT_USERAGENT, settings->user_agent);
}

struct http_call *http_call_start(struct http_client *client, const struct http_request *request,
                                  const struct http_events *events, void *context)
{
    struct http_call *call = calloc(1, sizeof *call);
    CURL *easy = curl_easy_init();
    if (call == NULL || easy == NULL)
        abort();
    call->client = client;
    call->easy = easy;
    call->events = events;
    call->context = context;
    buf_init(&call->request_body, SIZE_MAX / 2);
    buf_init(&call->body, request->body_max_bytes == 0 ? BODY_MAX_BYTES : request->body_max_bytes);
    set_connection(call, &client->settings);
    set_headers(call, request->headers);
    curl_easy_setopt(easy, CURLOPT_URL, request->url);
    if (request->body.at != NULL) {
        buf_put(&call->request_body, request->body);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.n);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
                         call->request_body.at == NULL ? "" : call->request_body.at);
    }
    if (request->method != NULL)
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    if (request->idle_timeout_s != 0) {
        curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)request->idle_timeout_s);
    }
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->error);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_curl_write);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    list_put(call, CALL_FRESH);
    arm(client, 0);
    return call;
}

void http_call_cancel(struct http_call *call)
{
    if (call == NULL || call->state == CALL_ENDED)
        return;
    list_take(call);
    /* Only a running call is known to libcurl, and only libcurl may be in the middle of it. */
    if (call->state == CALL_FRESH) {
        free_call(call);
        return;
    }
    list_put(call, CALL_ENDED);
    arm(call->client, 0);
}

static enum http_outcome outcome_of(const struct http_call *call, CURLcode code)
{
    if (call->is_peer_refused && status_of(call->easy) == 0)
        return HTTP_REFUSED_PEER;
    if (call->is_too_large)
        return HTTP_TOO_LARGE;
    if (call->is_stopped)
        return HTTP_STOPPED;
    curl_off_t connected_us = 0;
    switch (code) {
    case CURLE_OK: return HTTP_ANSWERED;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return HTTP_BAD_URL;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_COULDNT_CONNECT: return HTTP_UNREACHABLE;
    case CURLE_OPERATION_TIMEDOUT:
        curl_easy_getinfo(call->easy, CURLINFO_PRETRANSFER_TIME_T, &connected_us);
        return connected_us == 0 ? HTTP_UNREACHABLE : HTTP_TIMED_OUT;
    default: return HTTP_LOST;
    }
}

static void finish(struct http_call *call, CURLcode code)
{
    curl_off_t retry_after_s = 0;
    struct http_response response = {.outcome = outcome_of(call, code),
                                     .status = (int)status_of(call->easy),
                                     .body = buf_str(&call->body),
                                     .content_type = content_type_of(call->easy),
                                     .reason = ""};
    curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
    response.retry_after_s = retry_after_s > 0 ? (uint64_t)retry_after_s : 0;
    if (response.outcome == HTTP_REFUSED_PEER)
        response.reason = "the address is private";
    else if (response.outcome == HTTP_TOO_LARGE)
        response.reason = "the response is too large";
    else if (response.outcome != HTTP_ANSWERED)
        response.reason = call->error[0] != 0 ? call->error : curl_easy_strerror(code);
    curl_multi_remove_handle(call->client->multi, call->easy);
    bool is_wanted = call->state != CALL_ENDED;
    list_take(call);
    /* On no list while its callback runs: a cancel in there must not free it twice. */
    call->state = CALL_ENDED;
    if (is_wanted)
        call->events->on_done(call->context, &response);
    free_call(call);
}

/* ---- the client ---- */

static void init_curl(void)
{
    curl_global_init(CURL_GLOBAL_ALL);
}

struct http_client *http_client_create(const struct http_client_settings *settings)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_curl);
    struct http_client *client = calloc(1, sizeof *client);
    if (client == NULL)
        abort();
    if (settings != NULL)
        client->settings = *settings;
    client->multi = curl_multi_init();
    client->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    client->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = client->timer_fd};
    if (client->multi == NULL || client->epoll_fd < 0 || client->timer_fd < 0 ||
        epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, client->timer_fd, &event) != 0)
        abort();
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    return client;
}

void http_client_destroy(struct http_client *client)
{
    if (client == NULL)
        return;
    struct http_call *call;
    for (int state = 0; state < CALL_STATE_NR; state++)
        while ((call = list_pop(client, state)) != NULL) {
            if (state != CALL_FRESH)
                curl_multi_remove_handle(client->multi, call->easy);
            free_call(call);
        }
    if (client->notifier != NULL)
        h2o_socket_close(client->notifier);
    curl_multi_cleanup(client->multi);
    close(client->timer_fd);
    close(client->epoll_fd);
    free(client);
}

int http_client_fd(const struct http_client *client)
{
    return client->epoll_fd;
}

static void start_and_end_calls(struct http_client *client)
{
    struct http_call *call;
    while ((call = list_pop(client, CALL_ENDED)) != NULL) {
        curl_multi_remove_handle(client->multi, call->easy);
        free_call(call);
    }
    while ((call = list_pop(client, CALL_FRESH)) != NULL) {
        list_put(call, CALL_RUNNING);
        if (curl_multi_add_handle(client->multi, call->easy) != CURLM_OK)
            abort();
    }
}

static void finish_calls(struct http_client *client)
{
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(client->multi, &left)) != NULL) {
        struct http_call *call = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        finish(call, message->data.result);
    }
}

static void turn(struct http_client *client, int timeout_ms)
{
    struct epoll_event events[EVENTS_PER_TURN];
    int running, n = epoll_wait(client->epoll_fd, events, EVENTS_PER_TURN, timeout_ms);
    uint64_t ticks;
    for (int i = 0; i < n; i++) {
        int fd = events[i].data.fd;
        if (fd == client->timer_fd) {
            ssize_t got = read(fd, &ticks, sizeof ticks);
            (void)got; /* whether it was due is decided below */
            continue;
        }
        int ready = (events[i].events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
                    (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                    (events[i].events & EPOLLERR ? CURL_CSELECT_ERR : 0);
        curl_multi_socket_action(client->multi, fd, ready, &running);
    }
    start_and_end_calls(client);
    uint64_t now_ms = clock_mono_ms();
    if (client->due_ms != 0 && client->due_ms <= now_ms) {
        client->due_ms = 0;
        curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    finish_calls(client);
    /* A kick may have moved the timer to before libcurl's time: set it right again. */
    if (client->calls[CALL_FRESH] != NULL || client->calls[CALL_ENDED] != NULL)
        arm(client, 0);
    else if (client->due_ms != 0)
        arm(client, client->due_ms > now_ms ? client->due_ms - now_ms : 0);
}

void http_client_turn(struct http_client *client)
{
    turn(client, 0);
}

void http_client_wait(struct http_client *client, int timeout_ms)
{
    turn(client, timeout_ms);
}

static void on_notified(h2o_socket_t *socket, const char *error)
{
    if (error == NULL)
        http_client_turn(socket->data);
}

void http_client_attach(struct http_client *client, struct st_h2o_evloop_t *loop)
{
    assert(client->notifier == NULL);
    /* The h2o socket closes its descriptor, so it gets one of its own for the same epoll. */
    int fd = dup(client->epoll_fd);
    if (fd < 0)
        abort();
    client->notifier = h2o_evloop_socket_create(loop, fd, H2O_SOCKET_FLAG_DONT_READ);
    client->notifier->data = client;
    h2o_socket_read_start(client->notifier, on_notified);
}
