/* SPDX-License-Identifier: MIT
 * respond.c - see respond.h.
 *
 * A valid signature is used up whatever the answer. Most requests use up their nonce with their
 * first verb. Requests that are answered before any verb (400, 403, 413, or without Redis) are held
 * here until a separate verb has used the nonce up (request_hooks), which costs a round trip; if
 * the nonce was already used, or Redis is lost, that becomes the answer. Answers with 503 are not
 * held, because they mean "send it again". */
#include "shared/http/request/respond.h"

#include "shared/base/clock.h"
#include "shared/base/trace.h"
#include "shared/http/request/accept.h"
#include "shared/http/request/error_page.h"
#include "shared/http/request/inner.h"
#include "shared/http/request/router.h"
#include "shared/http/wire/connection.h"

#include <stdio.h>
#include <stdlib.h>

enum { OWN_FORM_RETRY_MAX_S = 60 };

static h2o_iovec_t vec(struct str s)
{
    return h2o_iovec_init(s.at, s.n);
}

/* `name` is a literal in lower case (HTTP/2 wants that), `value` lives as long as the request. */
static void put_header(struct request *r, const char *name, struct str value)
{
    h2o_add_header_by_str(&r->exchange.h2o->pool, &r->exchange.h2o->res.headers, name, strlen(name),
                          0, NULL, value.at, value.n);
}

void respond_header(struct request *r, const char *name, struct str value)
{
    put_header(r, name, request_copy(r, value));
}

/* "*" echoes any origin, without credentials; a listed origin is echoed with them. */
static void put_cors(struct request *r)
{
    struct str origin = request_header(r, "origin");
    if (origin.at == NULL)
        return;
    const char *origins = r->server->config->cors_origins;
    bool is_any = strcmp(origins, "*") == 0;
    if (!is_any && !str_is_listed(str_of(origins), origin))
        return;
    put_header(r, "access-control-allow-origin", origin);
    put_header(r, "vary", STR("Origin"));
    if (!is_any)
        put_header(r, "access-control-allow-credentials", STR("true"));
    put_header(r, "access-control-expose-headers",
               STR("X-Request-Id, Retry-After, Link, X-RateLimit-Limit, X-RateLimit-Remaining, "
                   "X-RateLimit-Reset, X-Parley-Position, X-Parley-Attached, "
                   "X-RateLimit-Limit-Requests, X-RateLimit-Remaining-Requests, "
                   "X-RateLimit-Reset-Requests, X-RateLimit-Limit-Tokens, "
                   "X-RateLimit-Remaining-Tokens, X-RateLimit-Reset-Tokens, Retry-After-Ms, "
                   "X-Should-Retry, OpenAI-Processing-Ms"));
    if (!str_eq((struct str){r->exchange.h2o->method.base, r->exchange.h2o->method.len},
                STR("OPTIONS")))
        return;
    put_header(r, "access-control-allow-methods", STR("GET, POST, PUT, DELETE, DEL, OPTIONS"));
    struct str wanted = request_header(r, "access-control-request-headers");
    if (wanted.at != NULL)
        put_header(r, "access-control-allow-headers", wanted);
    put_header(r, "access-control-max-age", STR("600"));
}

static void put_common(struct request *r, int status, const char *content_type)
{
    h2o_req_t *h2o = r->exchange.h2o;
    h2o->res.status = status;
    h2o->res.reason = err_reason(status);
    if (content_type != NULL)
        h2o_add_header(&h2o->pool, &h2o->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL, content_type,
                       strlen(content_type));
    put_header(r, "x-request-id", r->id);
    put_header(r, "x-content-type-options", STR("nosniff"));
    struct str trace = request_header(r, "traceparent");
    if (trace_is_parent(trace))
        put_header(r, "traceparent", trace);
    put_cors(r);
    if (r->server->is_draining)
        h2o->http1_is_persistent = 0;
}

/* Unknown values are left out: a field without a name ends the list, so those come last. */
static void log_request(struct request *r, int status, uint64_t took_us)
{
    enum { KNOWN = 6 };
    struct str trace = request_header(r, "traceparent");
    struct log_field fields[KNOWN + 5] = {
        LOG_STR("id", r->id),
        LOG_S("method", r->route == NULL ? "" : r->route->method),
        LOG_S("route", r->route == NULL ? "none" : r->route->path),
        LOG_U("status", status),
        LOG_STR("account", r->account == NULL ? STR("") : r->account->name),
        LOG_U("us", took_us)};
    size_t n = KNOWN;
    if (r->about.topic.at != NULL)
        fields[n++] = LOG_STR("topic", r->about.topic);
    if (r->about.seq != 0)
        fields[n++] = LOG_U("seq", r->about.seq);
    if (r->about.added_by.at != NULL)
        fields[n++] = LOG_STR("added_by", r->about.added_by);
    if (trace_is_parent(trace))
        fields[n++] = LOG_STR("trace", trace_id_of(trace));
    log_fields(r->server->config->logs_requests ? LOG_INFO : LOG_DEBUG, "request", fields);
}

bool request_is_logged(const struct request *r)
{
    return log_is_on(r->server->config->logs_requests ? LOG_INFO : LOG_DEBUG);
}

void request_note_added_by(struct request *r, struct str id)
{
    if (id.at != NULL && request_is_logged(r) && !str_eq(id, r->id))
        r->about.added_by = request_copy(r, id);
}

static void count(struct request *r, int status)
{
    connection_answered(&r->exchange);
    uint64_t took_us = clock_mono_us() - r->start_us;
    metrics_count_request(r->server->metrics, status, took_us, r->was_parked);
    r->server->hooks->answered(r, status);
    if (request_is_logged(r))
        log_request(r, status, took_us);
}

/* A whole answer. What it points to lives as long as the request. */
struct held_answer {
    int status;
    const char *content_type;             /* NULL: none */
    struct str cache_control, etag, body; /* etag.at == NULL: none */
};

static void send_now(struct request *r, const struct held_answer *answer)
{
    static h2o_generator_t generator = {NULL, NULL};
    h2o_req_t *h2o = r->exchange.h2o;
    h2o_iovec_t bytes = vec(answer->body);
    put_common(r, answer->status, answer->content_type);
    put_header(r, "cache-control", answer->cache_control);
    if (answer->etag.at != NULL)
        put_header(r, "etag", answer->etag);
    if (answer->status != 304)
        h2o->res.content_length = answer->body.n;
    count(r, answer->status);
    if (r->inner != NULL) {
        r->inner->on_answer(r->inner, answer->status, answer->body);
        return;
    }
    if (r->account == NULL)
        connection_answers_anonymous(&r->exchange);
    h2o_start_response(h2o, &generator);
    h2o_send(h2o, &bytes, request_is_head(r) || answer->body.n == 0 ? 0 : 1, H2O_SEND_STATE_FINAL);
}

/* From here on the request has its answer, and another one is a bug of ours. */
static void begin_answer(struct request *r, int status)
{
    if (r->exchange.is_answered)
        abort();
    r->exchange.is_answered = true;
    r->exchange.is_authenticated = r->account != NULL;
    r->server->hooks->begins(r, status);
}

void respond_held(struct request *r)
{
    struct held_answer *held = r->held;
    r->held = NULL;
    send_now(r, held);
}

static void send_answer(struct request *r, const struct held_answer *answer)
{
    if (r->revoked != ERR_OK && answer->status != 401) {
        respond_instead(r, r->revoked);
        return;
    }
    begin_answer(r, answer->status);
    if (!r->nonce.is_set || answer->status == 503) {
        send_now(r, answer);
        return;
    }
    r->held = request_alloc(r, sizeof *r->held);
    *r->held = *answer;
    r->server->hooks->holds(r);
}

void respond_instead(struct request *r, enum err error)
{
    if (r->held != NULL)
        r->exchange.is_answered = false;
    r->held = NULL;
    r->exchange.h2o->res.headers.size = 0;
    bool is_link = error == ERR_NONCE_USED && !r->is_signed; /* whose id was used up as a nonce */
    respond_error(r, error, is_link ? "This was used before, and works once: begin again." : NULL);
}

/* One that has changed nothing can be sent again. */
static bool may_refuse(const struct request *r)
{
    return r->route != NULL && strcmp(r->route->method, "GET") == 0 && !r->route->is_always_sent;
}

static void send_copy(struct request *r, int status, const char *content_type, struct str body)
{
    if (!connection_has_room(&r->exchange, body.n) && may_refuse(r)) {
        r->exchange.h2o->res.headers.size = 0;
        respond_error(r, ERR_BUSY,
                      "Clients have left too many long answers of this node unread: read them, or "
                      "retry shortly.");
        return;
    }
    connection_hold_answer(&r->exchange, body.n);
    const struct held_answer answer = {
        status, content_type, STR("no-store"), {NULL, 0}, request_copy(r, body)};
    send_answer(r, &answer);
}

void respond_text(struct request *r, int status, const char *content_type, const struct buf *body)
{
    if (body->is_over)
        respond_error(r, ERR_INTERNAL, "The response is too large: request less data.");
    else
        send_copy(r, status, content_type, buf_str(body));
}

void respond_json(struct request *r, int status, const struct buf *body)
{
    respond_text(r, status, "application/json", body);
}

void respond_json_fixed(struct request *r, int status, struct str body)
{
    send_copy(r, status, "application/json", body);
}

void respond_page_policy(struct request *r, const struct html_policy *policy)
{
    char text[HTML_POLICY_MAX_BYTES];
    html_policy_write(policy, text);
    respond_header(r, "content-security-policy", str_of(text));
}

void respond_page(struct request *r, int status, const struct html_frame *frame, bool has_form,
                  const struct buf *page)
{
    respond_page_policy(r, &(struct html_policy){.style = frame->style, .has_form = has_form});
    respond_text(r, status, HTML_TYPE, page);
}

void respond_empty(struct request *r, int status)
{
    send_copy(r, status, NULL, STR(""));
}

bool respond_etag_is_in(struct str list, struct str etag)
{
    if (str_eq(str_trim(list), STR("*")))
        return true;
    while (list.at != NULL) {
        struct str one = str_trim(str_cut(&list, ','));
        if (str_has_prefix(one, STR("W/")))
            one = (struct str){one.at + 2, one.n - 2};
        if (str_eq(one, etag))
            return true;
    }
    return false;
}

static void send_constant(struct request *r, const char *content_type, struct str cache_control,
                          struct str body, const char *etag)
{
    struct str known = request_header(r, "if-none-match");
    bool is_known = known.at != NULL && respond_etag_is_in(known, str_of(etag));
    const struct held_answer answer = {is_known ? 304 : 200, is_known ? NULL : content_type,
                                       cache_control, str_of(etag), is_known ? STR("") : body};
    send_answer(r, &answer);
}

void respond_constant(struct request *r, const char *content_type, struct str body,
                      const char *etag)
{
    send_constant(r, content_type, STR("no-cache"), body, etag);
}

void respond_fixed(struct request *r, const char *content_type, struct str body, const char *etag)
{
    send_constant(r, content_type, STR("public, max-age=31536000, immutable"), body, etag);
}

#define BEARER "Bearer realm=\"parley\""
enum { CHALLENGE_MAX_BYTES = 2048 };

/* How to authenticate (RFC 9110, 11.6.1), and what ended a token that was good once (RFC 6750, 3).
 */
static struct str challenge(enum err error)
{
    switch (error) {
    case ERR_TOKEN_EXPIRED:
        return STR(BEARER
                   ", error=\"invalid_token\", "
                   "error_description=\"The token has expired.\", Parley-Signed realm=\"parley\"");
    case ERR_REVOKED:
        return STR(BEARER
                   ", error=\"invalid_token\", "
                   "error_description=\"The account of the token has changed\", Parley-Signed "
                   "realm=\"parley\"");
    default: return STR(BEARER ", Parley-Signed realm=\"parley\"");
    }
}

static void put_challenge(struct request *r, enum err error)
{
    struct str text = challenge(error);
    struct buf b;
    if (r->route == NULL || r->route->put_challenge == NULL) {
        put_header(r, "www-authenticate", text);
        return;
    }
    buf_init(&b, CHALLENGE_MAX_BYTES);
    buf_lit(&b, BEARER);
    r->route->put_challenge(r, &b);
    buf_put(&b, (struct str){text.at + sizeof BEARER - 1, text.n - (sizeof BEARER - 1)});
    respond_header(r, "www-authenticate", buf_str(&b));
    buf_fini(&b);
}

void respond_error(struct request *r, enum err error, const char *detail)
{
    respond_error_more(r, error, detail, NULL, 0);
}

/* Errors are bugs of ours, each worth its line; the rest anybody can cause again and again. */
static void log_failure(struct request *r, enum err error)
{
    const struct err_info *info = err_info(error);
    uint64_t times = 1;
    if (info->level <= LOG_INFO ||
        (info->level < LOG_ERROR &&
         !log_limit_passes(&r->server->refusals.answers[error], info->code, &times)))
        return;
    log_write(info->level, "request failed", LOG_STR("id", r->id), LOG_S("code", info->code),
              LOG_S("route", r->route == NULL ? "none" : r->route->path), LOG_U("times", times));
}

/* Puts the body and returns its content type. Where a folder's clients expect a form of their own
 * (struct route), they get no page, whatever they accept. */
static const char *put_error(struct request *r, struct buf *body, const struct problem *problem)
{
    const struct router *router = r->server->router;
    bool has_own_form = router_problem_writer(router, NULL, r->path) != NULL;
    if (has_own_form || !accept_prefers_page(request_header(r, "accept")))
        return problem_write(body, router_problem_writer(router, r->route, r->path), problem);
    respond_page_policy(r, &(struct html_policy){.style = error_frame.style});
    error_page_put(body, problem, r->path);
    return HTML_TYPE;
}

/* Clients of a folder with errors of its own obey a wait of a minute at most, and try again at once
 * if it is longer. */
static void put_retry_after(struct request *r, unsigned seconds)
{
    char text[24];
    bool has_own_form = router_problem_writer(r->server->router, NULL, r->path) != NULL;
    if (has_own_form && seconds > OWN_FORM_RETRY_MAX_S)
        seconds = OWN_FORM_RETRY_MAX_S;
    snprintf(text, sizeof text, "%u", seconds);
    respond_header(r, "retry-after", str_of(text));
    if (!has_own_form)
        return;
    snprintf(text, sizeof text, "%llu", seconds * 1000ULL);
    respond_header(r, "retry-after-ms", str_of(text));
}

void respond_error_more(struct request *r, enum err error, const char *detail, const char *members,
                        unsigned retry_after_s)
{
    const struct err_info *info = err_info(error);
    struct buf body;
    if (retry_after_s == 0 && (info->status == 503 || info->status == 429))
        retry_after_s = 1;
    if (retry_after_s > 0)
        put_retry_after(r, retry_after_s);
    if (error == ERR_ENCODED)
        put_header(r, "accept-encoding", STR("identity"));
    if (info->status == 401)
        put_challenge(r, error);
    buf_init(&body, 64 << 10);
    const char *type = put_error(r, &body,
                                 &(struct problem){.info = info,
                                                   .status = info->status,
                                                   .detail = detail == NULL ? info->text : detail,
                                                   .members = members,
                                                   .instance = r->id,
                                                   .request = r});
    log_failure(r, error);
    send_copy(r, info->status, type, buf_str(&body));
    buf_fini(&body);
}

void respond_start_stream(struct request *r, const char *content_type, h2o_generator_t *generator)
{
    begin_answer(r, 200);
    put_common(r, 200, content_type);
    put_header(r, "cache-control", STR("no-cache, no-transform"));
    put_header(r, "x-accel-buffering", STR("no"));
    count(r, 200);
    r->exchange.is_stream = true;
    if (r->inner == NULL)
        h2o_start_response(r->exchange.h2o, generator);
}

void respond_start_download(struct request *r, const char *content_type, const char *disposition,
                            h2o_generator_t *generator)
{
    begin_answer(r, 200);
    put_common(r, 200, content_type);
    put_header(r, "cache-control", STR("no-store"));
    respond_header(r, "content-disposition", str_of(disposition));
    count(r, 200);
    r->exchange.is_stream = true;
    h2o_start_response(r->exchange.h2o, generator);
}

void respond_start_upgrade(struct request *r)
{
    begin_answer(r, 101);
    put_common(r, 101, NULL);
    count(r, 101);
}

bool respond_allows_origin(struct request *r)
{
    struct str origin = request_header(r, "origin");
    const char *origins = r->server->config->cors_origins;
    return origin.at == NULL || strcmp(origins, "*") == 0 || str_is_listed(str_of(origins), origin);
}
