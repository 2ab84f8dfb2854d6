/* SPDX-License-Identifier: MIT
 * respond.c - see respond.h. */
#include "shared/http/respond.h"

#include "shared/base/clock.h"
#include "shared/http/connection.h"

#include <stdio.h>
#include <stdlib.h>

static h2o_iovec_t vec(struct str s)
{
    return h2o_iovec_init(s.at, s.n);
}

/* `name` is a literal in lower case (HTTP/2 wants that), `value` lives as long as the request. */
static void put_header(struct request *r, const char *name, struct str value)
{
    h2o_add_header_by_str(&r->h2o->pool, &r->h2o->res.headers, name, strlen(name), 0, NULL,
                          value.at, value.n);
}

void respond_header(struct request *r, const char *name, struct str value)
{
    put_header(r, name, request_copy(r, value));
}

static bool is_listed(const char *origins, struct str origin)
{
    struct str rest = str_of(origins);
    while (rest.at != NULL)
        if (str_eq(str_trim(str_cut(&rest, ',')), origin))
            return true;
    return false;
}

/* "*" echoes any origin, without credentials; a listed origin is echoed with them. */
static void put_cors(struct request *r)
{
    struct str origin = request_header(r, "origin");
    if (origin.at == NULL)
        return;
    const char *origins = r->server->config->cors_origins;
    bool is_any = strcmp(origins, "*") == 0;
    if (!is_any && !is_listed(origins, origin))
        return;
    put_header(r, "access-control-allow-origin", origin);
    put_header(r, "vary", STR("Origin"));
    if (!is_any)
        put_header(r, "access-control-allow-credentials", STR("true"));
    put_header(
        r, "access-control-expose-headers",
        STR("X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset"));
    if (!str_eq((struct str){r->h2o->method.base, r->h2o->method.len}, STR("OPTIONS")))
        return;
    put_header(r, "access-control-allow-methods", STR("GET, POST, PUT, DELETE, OPTIONS"));
    struct str wanted = request_header(r, "access-control-request-headers");
    if (wanted.at != NULL)
        put_header(r, "access-control-allow-headers", wanted);
    put_header(r, "access-control-max-age", STR("600"));
}

/* W3C Trace Context: version-trace-span-flags, all lower-case hex. */
static bool is_traceparent(struct str s)
{
    return s.n >= 55 && s.n <= 128 && strspn(s.at, "0123456789abcdef-") >= s.n && s.at[2] == '-';
}

static void put_common(struct request *r, int status, const char *content_type)
{
    if (r->is_answered)
        abort();
    r->is_answered = true;
    h2o_req_t *h2o = r->h2o;
    h2o->res.status = status;
    h2o->res.reason = err_reason(status);
    if (content_type != NULL)
        h2o_add_header(&h2o->pool, &h2o->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL, content_type,
                       strlen(content_type));
    put_header(r, "x-request-id", r->id);
    put_header(r, "x-content-type-options", STR("nosniff"));
    struct str trace = request_header(r, "traceparent");
    if (trace.at != NULL && is_traceparent(request_copy(r, trace)))
        put_header(r, "traceparent", trace);
    put_cors(r);
    if (r->server->is_draining)
        h2o->http1_is_persistent = 0;
}

static void count(struct request *r, int status)
{
    connection_answered(r);
    uint64_t took_us = clock_mono_us() - r->start_us;
    metrics_count_request(r->server->metrics, status, took_us, r->was_parked);
    if (log_is_on(LOG_DEBUG))
        log_write(LOG_DEBUG, "request", LOG_STR("id", r->id),
                  LOG_S("route", r->route == NULL ? "none" : r->route->path),
                  LOG_U("status", status),
                  LOG_STR("account", r->account == NULL ? STR("") : r->account->name),
                  LOG_U("us", took_us));
}

/* Sends what put_common began. `body` lives as long as the request; HEAD is told its length only.
 */
static void send_bytes(struct request *r, int status, struct str body)
{
    static h2o_generator_t generator = {NULL, NULL};
    h2o_req_t *h2o = r->h2o;
    h2o_iovec_t bytes = vec(body);
    bool is_bare = h2o_memis(h2o->method.base, h2o->method.len, H2O_STRLIT("HEAD"));
    count(r, status);
    h2o_start_response(h2o, &generator);
    h2o_send(h2o, &bytes, is_bare || body.n == 0 ? 0 : 1, H2O_SEND_STATE_FINAL);
}

static void send_answer(struct request *r, int status, const char *content_type, struct str body)
{
    put_common(r, status, content_type);
    put_header(r, "cache-control", STR("no-store"));
    r->h2o->res.content_length = body.n;
    send_bytes(r, status, request_copy(r, body));
}

void respond_text(struct request *r, int status, const char *content_type, struct str body)
{
    send_answer(r, status, content_type, body);
}

void respond_json(struct request *r, int status, struct str body)
{
    send_answer(r, status, "application/json", body);
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

void respond_constant(struct request *r, const char *content_type, struct str body,
                      const char *etag)
{
    struct str known = request_header(r, "if-none-match");
    bool is_known = known.at != NULL && respond_etag_is_in(known, str_of(etag));
    put_common(r, is_known ? 304 : 200, is_known ? NULL : content_type);
    put_header(r, "cache-control", STR("no-cache"));
    put_header(r, "etag", str_of(etag));
    if (is_known) {
        send_bytes(r, 304, STR(""));
        return;
    }
    r->h2o->res.content_length = body.n;
    send_bytes(r, 200, body);
}

void respond_error(struct request *r, enum err error, const char *detail)
{
    respond_error_more(r, error, detail, NULL, 0);
}

void respond_error_more(struct request *r, enum err error, const char *detail, const char *members,
                        unsigned retry_after_s)
{
    const struct err_info *info = err_info(error);
    struct buf body;
    char seconds[16];
    if (retry_after_s == 0 && (info->status == 503 || info->status == 429))
        retry_after_s = 1;
    if (retry_after_s > 0) {
        snprintf(seconds, sizeof seconds, "%u", retry_after_s);
        respond_header(r, "retry-after", str_of(seconds));
    }
    if (info->status == 401)
        put_header(r, "www-authenticate",
                   STR("Bearer realm=\"parley\", Parley-Signed realm=\"parley\""));
    buf_init(&body, 64 << 10);
    buf_printf(&body, "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"detail\":",
               err_reason(info->status), info->status);
    struct str text = str_of(detail == NULL ? info->text : detail);
    buf_put_json(&body, text);
    if (r->route != NULL && r->route->tells_error) {
        buf_lit(&body, ",\"error\":");
        buf_put_json(&body, text);
    }
    buf_printf(&body, ",\"code\":\"%s\",\"instance\":", info->code);
    buf_put_json(&body, r->id);
    if (members != NULL)
        buf_printf(&body, ",%s", members);
    buf_put_char(&body, '}');
    if (info->level > LOG_INFO)
        log_write(info->level, "request failed", LOG_STR("id", r->id), LOG_S("code", info->code),
                  LOG_S("route", r->route == NULL ? "none" : r->route->path));
    send_answer(r, info->status, "application/problem+json", buf_str(&body));
    buf_fini(&body);
}

void respond_start_stream(struct request *r, h2o_generator_t *generator)
{
    put_common(r, 200, "text/event-stream");
    put_header(r, "cache-control", STR("no-cache, no-transform"));
    put_header(r, "x-accel-buffering", STR("no"));
    count(r, 200);
    r->is_stream = true;
    h2o_start_response(r->h2o, generator);
}

void respond_start_upgrade(struct request *r)
{
    put_common(r, 101, NULL);
    count(r, 101);
}

bool respond_allows_origin(struct request *r)
{
    struct str origin = request_header(r, "origin");
    const char *origins = r->server->config->cors_origins;
    return origin.at == NULL || strcmp(origins, "*") == 0 || is_listed(origins, origin);
}
