/* SPDX-License-Identifier: MIT
 * client_call.c - one transfer of the HTTP client: how libcurl is set up for it, where the body of
 * its response goes, and what its end means to the caller (enum http_outcome). See client.c for the
 * states of a call. */
#include "shared/http/client/client_internal.h"

#include "shared/base/mem.h"
#include "shared/base/sm.h"
#include "shared/base/trust.h"
#include "shared/http/client/client_reason.h"
#include "shared/http/client/private_address.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

enum {
    CONNECT_TIMEOUT_MS = 5000,
    BODY_MAX_BYTES = 1 << 20,
    /* How long sent bytes may stay unacknowledged, and how a silent peer is probed: a plug that
     * was pulled is noticed within 30 s, not when a long poll should have ended. */
    UNACKED_MAX_MS = 30000,
    KEEPALIVE_IDLE_S = 15,
    KEEPALIVE_INTERVAL_S = 5,
    DNS_CACHE_S = 2,
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
    bool is_kept = call->events->on_body == NULL || status < 200 || status > 299;
    bool has_limit = is_kept && call->events->on_body != NULL && call->body.max > BODY_MAX_BYTES;
    call->received_bytes += n;
    if (call->received_bytes > (has_limit ? BODY_MAX_BYTES : call->body.max)) {
        call->is_too_large = true;
        return 0;
    }
    if (is_kept) {
        buf_put(&call->body, (struct str){bytes, n});
        return n;
    }
    if (!call->events->on_body(call->context, content_type_of(call->easy), (struct str){bytes, n}))
        call->is_stopped = true;
    return call->is_stopped || call->state == CALL_ENDED ? 0 : n;
}

void call_free(struct http_call *call)
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
    /* No encoding is asked for, since servers that compress a stream hold it back; one that a
     * server or a proxy applies all the same is decoded. */
    call->headers = curl_slist_append(call->headers, "Accept-Encoding:");
    curl_easy_setopt(call->easy, CURLOPT_ACCEPT_ENCODING, "");
    for (; headers != NULL && *headers != NULL; headers++)
        call->headers = curl_slist_append(call->headers, *headers);
    curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
}

static void set_connection(struct http_call *call, const struct http_client_settings *settings)
{
    CURL *easy = call->easy;
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    /* A part of a path that is "..", such as the name of a user, is what it is. */
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_INTERVAL_S);
    /* A container that starts again may have another address; libcurl would keep the old one for a
     * minute. */
    curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, (long)DNS_CACHE_S);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     settings->connect_timeout_ms == 0 ? (long)CONNECT_TIMEOUT_MS
                                                       : (long)settings->connect_timeout_ms);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_curl_open);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_curl_sockopt);
    if (settings->is_refusing_private)
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
    if (trust_file() != NULL)
        curl_easy_setopt(easy, CURLOPT_CAINFO, trust_file());
    if (settings->user_agent != NULL)
        curl_easy_setopt(easy, CURLOPT_USERAGENT, settings->user_agent);
}

struct http_call *http_call_start(struct http_client *client, const struct http_request *request,
                                  const struct http_events *events, void *context)
{
    struct http_call *call = mem_zeroed(sizeof *call);
    CURL *easy = curl_easy_init();
    if (easy == NULL)
        abort();
    call->client = client;
    call->number = sm_number();
    call->easy = easy;
    call->events = events;
    call->context = context;
    buf_init(&call->request_body, SIZE_MAX / 2);
    buf_init(&call->body, request->body_max_bytes == 0 ? BODY_MAX_BYTES : request->body_max_bytes);
    set_connection(call, &client->settings);
    set_headers(call, request->headers);
    curl_easy_setopt(easy, CURLOPT_URL, request->url);
    call->is_connection = request->is_connection;
    if (request->is_connection) {
        curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    }
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
    client_put_call(call);
    return call;
}

void http_call_cancel(struct http_call *call)
{
    if (call == NULL || call->state == CALL_ENDED)
        return;
    /* Only a running call is known to libcurl, and only libcurl may be in the middle of it. */
    if (call->state == CALL_FRESH) {
        list_remove(&call->link);
        call_free(call);
        return;
    }
    list_remove(&call->link);
    client_move_call(call, CALL_ENDED);
    client_put_call(call);
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
    case CURLE_URL_MALFORMAT: return HTTP_BAD_URL;
    case CURLE_UNSUPPORTED_PROTOCOL: /* of the URL, or of what the server answered */
        curl_easy_getinfo(call->easy, CURLINFO_PRETRANSFER_TIME_T, &connected_us);
        return connected_us == 0 ? HTTP_BAD_URL : HTTP_LOST;
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

/* Some programs begin a text with a byte order mark, which parsers of JSON refuse. */
static struct str without_mark(struct str body)
{
    static const struct str mark = {"\xef\xbb\xbf", 3};
    return str_has_prefix(body, mark) ? (struct str){body.at + mark.n, body.n - mark.n} : body;
}

void *http_call_curl(const struct http_call *call)
{
    return call->easy;
}

void call_finish(struct http_call *call, CURLcode code)
{
    if (call->is_connection && code == CURLE_OK && call->state == CALL_RUNNING) {
        /* libcurl would close the connection with the handle: both stay until the call is
         * cancelled. */
        call->events->on_done(call->context,
                              &(struct http_response){.outcome = HTTP_ANSWERED, .reason = ""});
        return;
    }
    curl_off_t retry_after_s = 0;
    char reason[CLIENT_REASON_BYTES] = "";
    if (code != CURLE_OK)
        client_put_reason(call->easy, code, call->error, reason);
    struct http_response response = {.outcome = outcome_of(call, code),
                                     .status = (int)status_of(call->easy),
                                     .body = without_mark(buf_str(&call->body)),
                                     .content_type = content_type_of(call->easy),
                                     .reason = ""};
    if (response.outcome == HTTP_ANSWERED && response.status == 400 &&
        client_wants_tls(call->easy, response.body, reason))
        response.outcome = HTTP_UNREACHABLE;
    curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
    response.retry_after_s = retry_after_s > 0 ? (uint64_t)retry_after_s : 0;
    if (response.outcome == HTTP_REFUSED_PEER)
        response.reason = "the address is private";
    else if (response.outcome == HTTP_TOO_LARGE)
        response.reason = "the response is too large";
    else if (response.outcome != HTTP_ANSWERED)
        response.reason = reason;
    curl_multi_remove_handle(call->client->multi, call->easy);
    bool is_wanted = call->state != CALL_ENDED;
    list_remove(&call->link);
    /* On no list while its callback runs: a cancel in there must not free it twice. */
    if (is_wanted) {
        client_move_call(call, CALL_ENDED);
        call->events->on_done(call->context, &response);
    }
    call_free(call);
}
