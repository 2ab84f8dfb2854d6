/* SPDX-License-Identifier: MIT
 * request.c - see request.h.
 *
 * A small shared chunk hangs on the request's pool; its destructor notifies us that libh2o has
 * finished with the request. */
#include "shared/http/request/request.h"

#include "generated/verbs.h"
#include "shared/base/clock.h"
#include "shared/base/hash.h"
#include "shared/base/trace.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/gather.h"
#include "shared/http/request/handle.h"
#include "shared/http/request/once.h"
#include "shared/http/request/peer.h"
#include "shared/http/request/respond.h"
#include "shared/http/request/router.h"
#include "shared/http/request/stream.h"
#include "shared/http/wire/connection.h"
#include "shared/http/wire/leave.h"

#include <stdio.h>
#include <stdlib.h>

/* In the request's pool. */
struct request_call {
    struct call call;
    struct request *request;
    request_reply_cb *on_reply;
    unsigned shard;            /* of request_call_at */
    struct request_call *next; /* of all of the request */
};

void request_detach(struct request *r)
{
    for (struct request_call *call = r->calls; call != NULL; call = call->next)
        call_detach(&call->call);
}

/* --- life ----------------------------------------------------------------------------------- */

/* Requests that have an account are listed: it may lose its right while they run. */
static void list(struct request *r)
{
    list_prepend(&r->server->requests.with_account, &r->link);
}

static void on_disposed(void *chunk)
{
    struct request *r = *(struct request **)chunk;
    r->server->requests.open_n--;
    r->server->hooks->gone(r);
    list_remove(&r->link);
    leave_unwatch(&r->exchange);
    handle_cancel(r);
    r->exchange.is_proven = r->account != NULL;
    connection_end(&r->exchange);
    request_detach(r);
    if (r->on_gone != NULL)
        r->on_gone(r);
    once_fini(r);
    gather_fini(r->gather);
}

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

static void on_left(struct exchange *x)
{
    struct request *r = container_of(x, struct request, exchange);
    r->server->hooks->left(r);
}

struct request *request_create(struct server *server, h2o_req_t *h2o)
{
    struct request *r = h2o_mem_alloc_pool(&h2o->pool, sizeof *r);
    *r = (struct request){.exchange = {.h2o = h2o, .on_left = on_left},
                          .server = server,
                          .start_us = clock_mono_us()};
    struct request **chunk = h2o_mem_alloc_shared(&h2o->pool, sizeof *chunk, on_disposed);
    *chunk = r;
    server->requests.open_n++;
    connection_begin(&r->exchange);
    leave_watch(&r->exchange);
    request_split_target((struct str){h2o->path.base, h2o->path.len}, &r->path, &r->query);
    r->id = request_id_of(server, h2o);
    if (server->is_draining)
        h2o->http1_is_persistent = 0;
    return r;
}

void request_admit(struct request *r)
{
    if (r->account != NULL) {
        list(r);
        r->exchange.is_proven = true;
        connection_proves(&r->exchange);
    }
    if (r->objection != ERR_OK)
        respond_error(r, r->objection, r->objection_detail);
    else if (r->nonce.is_set && r->server->shards->n > 1 && !r->route->uses_nonce_itself)
        request_handle_after_nonce(r);
    else
        request_handle(r);
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
    if (r->stream != NULL)
        stream_revoke(r->stream);
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

bool request_param_u64(struct request *r, const char *name, uint64_t min, uint64_t max,
                       uint64_t fallback, uint64_t *ret_value)
{
    struct str text = request_param(r, name);
    uint64_t value = fallback;
    if (text.at != NULL && (!str_parse_u64(text, &value) || value < min || value > max)) {
        char expected[80];
        snprintf(expected, sizeof expected, "a whole number from %llu to %llu",
                 (unsigned long long)min, (unsigned long long)max);
        return explain_param(r, name, expected);
    }
    *ret_value = value;
    return true;
}

bool request_param_is_true(struct request *r, const char *name)
{
    struct str text = request_param(r, name);
    return text.at != NULL && (str_eq_nocase(text, STR("true")) || str_eq(text, STR("1")));
}

/* --- verbs ---------------------------------------------------------------------------------- */

void request_on_replay(struct request *r)
{
    request_detach(r);
    if (r->server->hooks->replayed(r))
        return;
    metrics_add(r->server->metrics, METRIC_NONCES_REUSED, 1);
    if (!r->exchange.is_answered || r->held != NULL)
        respond_instead(r, ERR_NONCE_USED);
}

static void on_call_reply(struct call *handle, enum err error, struct str reply)
{
    struct request_call *call = container_of(handle, struct request_call, call);
    struct request *r = call->request;
    if (error == ERR_OK && str_eq(reply, STR("replay"))) {
        request_on_replay(r);
        return;
    }
    r->replied_shard = call->shard;
    call->on_reply(r, error, reply);
}

static struct request_call *free_call(struct request *r)
{
    struct request_call *call = r->calls;
    while (call != NULL && call_is_under_way(&call->call))
        call = call->next;
    if (call == NULL) {
        call = request_alloc(r, sizeof *call);
        *call = (struct request_call){.request = r, .next = r->calls};
        r->calls = call;
    }
    return call;
}

/* Accounts take turns at slow verbs, those without one by their addresses, and then the users for
 * whom they act. A provider's users are accounts, too. */
static void set_owner(struct request *r, struct call_start *start)
{
    struct str user = request_param(r, "OnBehalfOf");
    start->owner = hash_fnv64(r->account != NULL ? r->account->name_token : peer_address(r), 0);
    start->user = user.n == 0 ? 0 : hash_fnv64(user, 0);
}

struct call_start request_call(struct request *r, request_reply_cb *on_reply)
{
    struct request_call *call = free_call(r);
    call->on_reply = on_reply;
    struct call_start start = shards_call(r->server->shards, &call->call, on_call_reply);
    start.nonce = &r->nonce;
    set_owner(r, &start);
    return start;
}

struct call_start request_call_at(struct request *r, unsigned shard, request_reply_cb *on_reply)
{
    struct request_call *call = free_call(r);
    call->on_reply = on_reply;
    call->shard = shard;
    struct call_start start =
        turn_call(r->server->shards->turns[shard], &call->call, on_call_reply);
    start.nonce = &r->nonce;
    set_owner(r, &start);
    return start;
}

void request_use_nonce(struct request *r, request_reply_cb *on_reply)
{
    request_detach(r);
    call_nonce(request_call(r, on_reply));
}
