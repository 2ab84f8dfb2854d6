/* SPDX-License-Identifier: MIT
 * link.c - see link.h. A failed node is skipped for some seconds while another one responds; if
 * none does, they take turns. Only changes are logged above debug level, because an unattended
 * engine may retry for days. */
#include "services/engine/link/link_socket.h"

#include "shared/auth/signed.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/mem.h"
#include "shared/base/trace.h"
#include "shared/http/client/endpoint.h"

#include <assert.h>
#include <stdio.h>

enum {
    PASS_OVER_MS = 5000,
    FIRST_PAUSE_MS = 200,
    LONGEST_PAUSE_MS = 15000,
    RETRY_AFTER_MAX_S = 300,
    URL_MAX_BYTES = 8192,
    /* A claim may hold a hundred queries of 256 KiB, and history. */
    REPLY_MAX_BYTES = 64 << 20,
};

static bool put_node(struct link *link, struct str url)
{
    url = http_base_url(str_trim(url));
    if (!http_is_base_url(url) || url.n > LINK_NODE_URL_MAX_BYTES) {
        bool is_shown = memchr(url.at, '@', url.n) == NULL; /* it may hold a password */
        fprintf(stderr,
                "parley: --url takes http://HOST[:PORT] or https://HOST[:PORT], without user "
                "information or a query%s%.*s\n",
                is_shown ? ", not " : "", is_shown ? (int)url.n : 0, url.at);
        return false;
    }
    if (link->node_n == LINK_URLS_MAX) {
        fprintf(stderr, "parley: --url takes at most %d addresses\n", LINK_URLS_MAX);
        return false;
    }
    link->nodes[link->node_n++] = (struct link_node){.url = str_copy(url)};
    return true;
}

struct link *link_create(struct http_client *client, const char *urls, const char *user,
                         const char *secret)
{
    struct link *link = mem_zeroed(sizeof *link);
    *link = (struct link){.client = client, .user = str_of(user), .secret = str_of(secret)};
    struct str rest = str_of(urls);
    while (rest.at != NULL)
        if (!put_node(link, str_cut(&rest, ','))) {
            link_destroy(link);
            return NULL;
        }
    return link;
}

void link_destroy(struct link *link)
{
    if (link != NULL)
        link_socket_destroy(link->socket);
    for (unsigned i = 0; link != NULL && i < link->node_n; i++)
        free(link->nodes[i].url);
    free(link);
}

unsigned link_node_n(const struct link *link)
{
    return link->node_n;
}

const char *link_node_url(const struct link *link, unsigned i)
{
    return link->nodes[i].url;
}

struct link_node *link_pick_node(struct link *link, unsigned home)
{
    uint64_t now_ms = clock_mono_ms();
    assert(link->node_n > 0);
    for (unsigned i = 0; i < link->node_n; i++) {
        struct link_node *node = &link->nodes[(home + i) % link->node_n];
        if (!node->is_failing || now_ms - node->failed_at_ms > PASS_OVER_MS)
            return node;
    }
    return &link->nodes[link->turn++ % link->node_n];
}

enum link_verdict link_judge(int status)
{
    if (status >= 200 && status <= 299)
        return LINK_OK;
    /* 401 and 403: the account may be put right while we wait. 3xx: a proxy in front of
     * the node is not set up yet. */
    if (status == 401 || status == 403 || status == 408 || status == 425 || status == 429 ||
        status >= 500 || status < 400)
        return LINK_RETRY;
    return LINK_REFUSED;
}

static enum link_verdict judge(const struct http_response *response)
{
    if (response->outcome == HTTP_TOO_LARGE)
        return LINK_REFUSED;
    return response->outcome == HTTP_ANSWERED ? link_judge(response->status) : LINK_RETRY;
}

void link_read_problem(struct link_reply *reply)
{
    reply->code = json_string_value(json_object_get(reply->json, "code"));
    reply->reason = json_string_value(json_object_get(reply->json, "detail"));
    if (reply->code == NULL)
        reply->code = "";
}

void link_note_failure(struct link_node *node, const struct link_reply *reply)
{
    log_write(node->is_failing ? LOG_DEBUG : LOG_WARN, "node unavailable", LOG_S("url", node->url),
              LOG_U("status", reply->status), LOG_S("code", reply->code),
              LOG_S("reason", reply->reason));
    node->is_failing = true;
    node->failed_at_ms = clock_mono_ms();
}

void link_note_success(struct link_node *node)
{
    if (node->is_failing)
        log_write(LOG_INFO, "node available again", LOG_S("url", node->url));
    node->is_failing = false;
}

static void on_http_done(void *context, const struct http_response *response)
{
    struct link_call *call = context;
    char parse_reason[160] = "";
    json_t *json = NULL;
    if (response->outcome == HTTP_ANSWERED && response->body.n > 0 &&
        !json_parse(response->body, parse_reason, sizeof parse_reason, &json))
        json = NULL;
    struct link_reply reply = {.verdict = judge(response),
                               .status = response->status,
                               .json = json,
                               .retry_after_s = response->retry_after_s,
                               .took_ms = clock_mono_ms() - call->started_ms};
    link_read_problem(&reply);
    if (reply.reason == NULL)
        reply.reason = response->outcome != HTTP_ANSWERED ? response->reason : parse_reason;
    /* Somebody's question that cannot be read is no trouble of the node. */
    if (reply.verdict == LINK_OK && json == NULL && response->body.n > 0 &&
        str_has_prefix(response->content_type, STR("application/json"))) {
        reply.verdict = LINK_UNREADABLE;
        reply.body = response->body;
    }
    if (reply.verdict == LINK_OK && json == NULL) {
        reply.verdict = LINK_RETRY;
        if (reply.reason[0] == 0)
            reply.reason = "the response is not JSON: is this a Parley node?";
    }
    if (!call->is_probe && reply.verdict == LINK_RETRY)
        link_note_failure(call->node, &reply);
    else if (!call->is_probe)
        link_note_success(call->node);
    call->callback(call->context, &reply);
    json_decref(json);
    free(call);
}

void link_put_url(struct buf *url, const struct link *link, const struct link_node *node,
                  const char *path, struct str query)
{
    buf_put(url, str_of(node->url));
    buf_put(url, str_of(path));
    buf_put_char(url, '?');
    buf_put(url, query);
    if (query.n > 0)
        buf_put_char(url, '&');
    signed_put_query(url, link->user, link->secret);
    buf_put_char(url, 0);
    if (url->is_over)
        abort(); /* its parts are bounded by the settings' checks */
}

struct link_call *link_start(struct link *link, const struct link_request *request,
                             link_callback callback, void *context)
{
    static const struct http_events events = {.on_done = on_http_done};
    char id[sizeof "X-Request-Id: " + TRACE_REQUEST_ID_MAX];
    const char *headers[] = {"Content-Type: application/json", "Accept: application/json", NULL,
                             NULL};
    if (link->socket != NULL && link_socket_takes(link->socket, request))
        return link_socket_start(link->socket, request, callback, context);
    struct link_call *call = mem_alloc(sizeof *call);
    struct buf url;
    *call =
        (struct link_call){.link = link,
                           .node = request->is_probe ? &link->nodes[request->home % link->node_n]
                                                     : link_pick_node(link, request->home),
                           .callback = callback,
                           .context = context,
                           .started_ms = clock_mono_ms(),
                           .is_probe = request->is_probe};
    if (request->request_id.at != NULL) {
        snprintf(id, sizeof id, "X-Request-Id: %.*s", STR_ARG(request->request_id));
        headers[2] = id;
    }
    buf_init(&url, URL_MAX_BYTES);
    link_put_url(&url, link, call->node, request->path, request->query);
    struct http_request http = {.url = url.at,
                                .headers = request->body.at == NULL ? headers + 1 : headers,
                                .body = request->body,
                                .timeout_ms = request->timeout_ms,
                                .body_max_bytes = REPLY_MAX_BYTES};
    call->http = http_call_start(link->client, &http, &events, call);
    buf_fini(&url);
    return call;
}

void link_cancel(struct link_call *call)
{
    if (call == NULL)
        return;
    if (call->http == NULL) {
        link_socket_cancel(call);
        return;
    }
    http_call_cancel(call->http);
    free(call);
}

/* "Full jitter": any pause from nothing to the current bound, so that engines that lost a node
 * together do not come back together. */
uint64_t backoff_next_ms(struct backoff *backoff, uint64_t retry_after_s)
{
    unsigned doublings = backoff->failures < 16 ? backoff->failures : 16;
    uint64_t bound_ms = (uint64_t)FIRST_PAUSE_MS << doublings;
    if (bound_ms > LONGEST_PAUSE_MS)
        bound_ms = LONGEST_PAUSE_MS;
    backoff->failures++;
    uint64_t pause_ms = arc4random_uniform((uint32_t)bound_ms + 1);
    uint64_t floor_ms =
        1000 * (retry_after_s < RETRY_AFTER_MAX_S ? retry_after_s : RETRY_AFTER_MAX_S);
    /* What the server asks for is a minimum; the jitter goes on top. */
    return floor_ms + pause_ms;
}
