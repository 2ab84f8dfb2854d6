/* SPDX-License-Identifier: MIT
 * request.c - the parts of a request and the values that came with it (request.h). It knows none of
 * the files that work on requests. */
#include "shared/http/request/request.h"

#include "shared/base/trace.h"
#include "shared/http/request/router.h"
#include "shared/http/wire/leave.h"

#include <stdlib.h>

static struct str own_id(const struct server *server, h2o_mem_pool_t *pool)
{
    size_t node_n = strlen(server->node_id);
    char *id = h2o_mem_alloc_pool(pool, node_n + 18), *end = id + node_n + 18, *p = end;
    uint64_t number = server->requests.numbered_n;
    do
        *--p = "0123456789abcdef"[number & 15];
    while ((number >>= 4) != 0);
    *--p = '-';
    p -= node_n;
    memcpy(p, server->node_id, node_n);
    return (struct str){p, (size_t)(end - p)};
}

struct str request_id_of(struct server *server, h2o_req_t *h2o)
{
    ssize_t at = h2o_find_header_by_str(&h2o->headers, H2O_STRLIT("x-request-id"), -1);
    server->requests.numbered_n++;
    if (at != -1) {
        h2o_iovec_t value = h2o->headers.entries[at].value;
        struct str id = {value.base, value.len};
        if (trace_is_request_id(id))
            return id;
    }
    return own_id(server, &h2o->pool);
}

void request_split_target(struct str target, struct str *ret_path, struct str *ret_query)
{
    static const struct str schemes[] = {{"http://", 7}, {"https://", 8}};
    struct str query = target;
    struct str path = str_cut(&query, '?');
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        struct str scheme = schemes[i];
        if (path.n < scheme.n || !str_eq_nocase((struct str){path.at, scheme.n}, scheme))
            continue;
        const char *end = path.at + path.n;
        const char *slash = memchr(path.at + scheme.n, '/', path.n - scheme.n);
        path = slash == NULL ? STR("/") : (struct str){slash, (size_t)(end - slash)};
        break;
    }
    *ret_path = path;
    *ret_query = query;
}

void request_park(struct request *r)
{
    r->was_parked = true;
    r->server->hooks->parked(r);
}

void request_revoke(struct request *r, enum err why)
{
    if (r->revoked == ERR_OK)
        r->revoked = why;
    if (r->exchange.is_answered && !r->exchange.is_stream)
        return;
    if (r->on_revoked != NULL)
        r->on_revoked(r);
    leave_notify(&r->exchange);
}

void request_on_left(struct request *r, struct left_listener *listener)
{
    if (!r->exchange.has_left && r->revoked == ERR_OK)
        leave_listen(&r->exchange, listener);
}

void request_off_left(struct request *r, struct left_listener *listener)
{
    leave_unlisten(&r->exchange, listener);
}

bool request_client_left(struct request *r)
{
    return leave_has_begun(&r->exchange);
}

bool request_write_failed(struct request *r)
{
    return leave_cut_answer(&r->exchange);
}

void *request_alloc(struct request *r, size_t bytes)
{
    return h2o_mem_alloc_pool(&r->exchange.h2o->pool, bytes);
}

struct str request_copy(struct request *r, struct str s)
{
    char *twin = request_alloc(r, s.n + 1);
    if (s.n > 0)
        memcpy(twin, s.at, s.n);
    twin[s.n] = 0;
    return (struct str){twin, s.n};
}

/* --- input ---------------------------------------------------------------------------------- */

struct str request_header(struct request *r, const char *name)
{
    ssize_t at = h2o_find_header_by_str(&r->exchange.h2o->headers, name, strlen(name), -1);
    if (at == -1)
        return (struct str){NULL, 0};
    h2o_iovec_t value = r->exchange.h2o->headers.entries[at].value;
    return (struct str){value.base, value.len};
}

/* Most requests have fewer than a dozen. */
static void read_params(struct request *r)
{
    size_t room = 12;
    r->params = request_alloc(r, room * sizeof *r->params);
    for (struct str rest = r->query; rest.at != NULL; r->param_n++) {
        if (r->param_n == room) {
            struct param *more = request_alloc(r, 2 * room * sizeof *more);
            memcpy(more, r->params, room * sizeof *more);
            r->params = more;
            room *= 2;
        }
        struct param *param = &r->params[r->param_n];
        param->value = str_cut(&rest, '&');
        param->name = str_cut(&param->value, '=');
    }
}

/* The raw value of the parameter `name`, after passing over `skip` others of that name. */
static struct str raw_param(struct request *r, struct str name, unsigned skip)
{
    if (r->params == NULL)
        read_params(r);
    for (size_t i = 0; i < r->param_n; i++)
        if (str_eq(r->params[i].name, name) && skip-- == 0)
            return r->params[i].value.at == NULL ? STR("") : r->params[i].value;
    return (struct str){NULL, 0};
}

static struct str decode_param(struct request *r, struct str raw, bool plus_is_space)
{
    if (raw.n == 0 || (memchr(raw.at, '%', raw.n) == NULL &&
                       (!plus_is_space || memchr(raw.at, '+', raw.n) == NULL)))
        return raw;
    struct buf *scratch = &r->server->scratch;
    buf_clear(scratch);
    if (!buf_put_url_decoded(scratch, raw, plus_is_space))
        return (struct str){NULL, 0};
    return request_copy(r, buf_str(scratch));
}

struct str request_param(struct request *r, const char *name)
{
    return decode_param(r, raw_param(r, str_of(name), 0), true);
}

struct str request_second_param(struct request *r, const char *name)
{
    return decode_param(r, raw_param(r, str_of(name), 1), true);
}

struct str request_param_plus(struct request *r, const char *name)
{
    return decode_param(r, raw_param(r, str_of(name), 0), false);
}

struct str request_path_param(struct request *r, const char *name)
{
    struct str segment = router_segment(str_of(r->route->path), r->path, str_of(name));
    if (segment.at == NULL)
        abort();
    return decode_param(r, segment, false);
}

bool request_param_is_true(struct request *r, const char *name)
{
    struct str text = request_param(r, name);
    return text.at != NULL && (str_eq_nocase(text, STR("true")) || str_eq(text, STR("1")));
}

const struct json_span *request_member(struct request *r, const char *name)
{
    struct str wanted = str_of(name);
    for (size_t i = r->member_n; i-- > 0 && r->members != NULL;)
        if (str_eq(r->members[i].name.raw, wanted))
            return r->members[i].value.kind == JSON_SPAN_NULL ? NULL : &r->members[i].value;
    return NULL;
}

static struct str span_text(struct request *r, const struct json_span *span)
{
    if (span == NULL || span->kind != JSON_SPAN_TEXT)
        return (struct str){NULL, 0};
    if (!span->has_escape)
        return span->raw;
    struct buf plain;
    buf_init(&plain, span->raw.n);
    buf_put_span_text(&plain, span);
    struct str copy = request_copy(r, buf_str(&plain));
    buf_fini(&plain);
    return copy;
}

struct str request_member_text(struct request *r, const char *name)
{
    return span_text(r, request_member(r, name));
}
