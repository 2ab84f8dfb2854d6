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
#include "shared/http/access/audit.h"
#include "shared/http/access/authenticate.h"
#include "shared/http/access/held_nonces.h"
#include "shared/http/access/rates.h"
#include "shared/http/access/rights.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/gather.h"
#include "shared/http/request/once.h"
#include "shared/http/request/peer.h"
#include "shared/http/request/respond.h"
#include "shared/http/request/router.h"
#include "shared/http/wire/connection.h"
#include "shared/http/wire/leave.h"
#include "shared/http/wire/linger.h"

#include <stdio.h>
#include <stdlib.h>

enum { LONG_BODY_BYTES = 32 << 10 };

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

static void end_turn(struct request *r);

/* --- life ----------------------------------------------------------------------------------- */

/* HTTP/2: a client that resets its stream, or whose connection is gone, does not wait for what it
 * has begun. */
static void audit_unanswered(struct request *r)
{
    if (!r->is_answered && r->calls != NULL && r->route != NULL && r->route->audit != AUDIT_NONE)
        audit_request(r, AUDIT_UNANSWERED);
}

static void on_disposed(void *chunk)
{
    struct request *r = *(struct request **)chunk;
    r->server->requests.open_n--;
    audit_unanswered(r);
    held_nonces_end(r, HELD_LOST);
    rights_unlist(r);
    leave_unwatch(r);
    end_turn(r);
    connection_end(r);
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

/* Escapes must be whole and what they make must be UTF-8 without NUL, or the whole text is bad. */
static bool is_good_encoding(struct server *server, struct str text)
{
    if (text.n == 0 || memchr(text.at, '%', text.n) == NULL)
        return str_is_utf8(text);
    buf_clear(&server->scratch);
    if (!buf_put_url_decoded(&server->scratch, text, false))
        return false;
    struct str decoded = buf_str(&server->scratch);
    return str_is_utf8(decoded) && memchr(decoded.at, 0, decoded.n) == NULL;
}

static size_t header_bytes(const h2o_req_t *h2o)
{
    size_t n = h2o->input.method.len + h2o->input.path.len;
    for (size_t i = 0; i < h2o->headers.size; i++)
        n += h2o->headers.entries[i].name->len + h2o->headers.entries[i].value.len + 4;
    return n;
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

/* What a route's `{name}` segments stand for must be decodable, as the query must. */
static bool is_good_path(struct request *r)
{
    return !router_is_pattern(str_of(r->route->path)) || is_good_encoding(r->server, r->path);
}

static void answer_preflight(struct request *r, const char *allow)
{
    respond_header(r, "allow", str_of(allow));
    respond_empty(r, 204);
}

static void object(struct request *r, enum err error, const char *detail)
{
    r->objection = error;
    r->objection_detail = detail;
}

/* Bodies are bounded as they are sent, and none is unpacked. */
static bool is_encoded(struct request *r)
{
    struct str encoding = request_header(r, "content-encoding");
    return r->h2o->entity.len > 0 && encoding.n > 0 && !str_eq_nocase(encoding, STR("identity"));
}

/* What stands against the request, no matter who sends it. */
static void look_for_objections(struct request *r)
{
    h2o_req_t *h2o = r->h2o;
    size_t head_max = r->server->config->header_max_bytes;
    if (header_bytes(h2o) > head_max) {
        bool is_path = h2o->path.len > head_max / 2;
        object(r, is_path ? ERR_URI_TOO_LONG : ERR_HEADERS_TOO_LARGE,
               explain_long_head(r, is_path ? "request line" : "headers"));
    } else if (r->route == NULL || r->objection != ERR_OK) {
        return;
    } else if (h2o->entity.len > server_body_max(r->server, r->route)) {
        object(r, server_too_large(r->route), explain_too_large(r, h2o->entity.len));
    } else if (is_encoded(r)) {
        object(r, ERR_ENCODED, NULL);
    } else if (r->route->takes_key && request_header(r, "idempotency-key").n > ONCE_KEY_MAX_BYTES) {
        object(r, ERR_BAD_REQUEST, "Idempotency-Key must be 1 to 128 bytes.");
    } else if (!is_good_path(r)) {
        object(r, ERR_BAD_REQUEST, "The path is not valid: broken %-escapes, or not UTF-8.");
    } else if (!is_good_encoding(r->server, r->query)) {
        object(r, ERR_BAD_REQUEST,
               "The query string is not valid: broken %-escapes, or not UTF-8.");
    }
}

static void answer_without_route(struct request *r, struct str method, const char *allow)
{
    if (r->objection != ERR_OK) {
        respond_error(r, r->objection, r->objection_detail);
    } else if (allow == NULL) {
        explain_no_route(r);
    } else if (str_eq(method, STR("OPTIONS"))) {
        answer_preflight(r, allow);
    } else {
        respond_header(r, "allow", str_of(allow));
        explain_method(r, allow);
    }
}

/* Refused by its head, and its body is missing: it never comes to its handler. Without an error of
 * its own it goes the ordinary way, to its 404, 405 or 401, and to 503 where that way is open after
 * all. */
static bool begin_refusal(struct request *r, const struct refusal *refusal)
{
    r->is_cut = true;
    r->pauses = r->h2o->version >= 0x200;
    if (!r->pauses) {
        r->h2o->http1_is_persistent = 0;
        linger_begin(r->server, r->h2o);
    }
    if (refusal->is_unread) {
        r->route = NULL;
        respond_error(r, refusal->error, refusal->detail);
        return true;
    }
    if (r->route != NULL && err_info(refusal->error)->status == 413)
        object(r, refusal->error, explain_too_large(r, refusal->length));
    else if (refusal->error != ERR_OK)
        object(r, refusal->error, refusal->detail);
    else if (r->route != NULL)
        object(r, ERR_BUSY, "The body was not read: send the request again.");
    return false;
}

void request_start(struct server *server, h2o_req_t *h2o)
{
    struct request *r = h2o_mem_alloc_pool(&h2o->pool, sizeof *r);
    *r = (struct request){.h2o = h2o, .server = server, .start_us = clock_mono_us()};
    struct request **chunk = h2o_mem_alloc_shared(&h2o->pool, sizeof *chunk, on_disposed);
    *chunk = r;
    server->requests.open_n++;
    struct refusal refusal = connections_take_refusal(server->connections);
    connection_begin(r);
    leave_watch(r);
    request_split_target((struct str){h2o->path.base, h2o->path.len}, &r->path, &r->query);
    r->id = request_id_of(server, h2o);
    if (server->is_draining)
        h2o->http1_is_persistent = 0;
    /* First of all: the route says what an error looks like. */
    const char *allow;
    struct str method = {h2o->method.base, h2o->method.len};
    r->route = router_find(server->router, method, r->path, &allow);
    if (refusal.is_set && begin_refusal(r, &refusal))
        return;
    look_for_objections(r);
    if (r->route == NULL) {
        answer_without_route(r, method, allow);
        return;
    }
    /* Credentials come before objections, so that a signed query which is refused is used up all
     * the same, and nobody tries secrets in requests that are refused for something else. */
    bool must_prove = refusal.is_set && refusal.error == ERR_OK;
    bool is_anonymous = r->route->roles == ROLES_NONE ||
                        (r->objection != ERR_OK && !must_prove && !authenticate_is_tried(r));
    if (is_anonymous || authenticate(r))
        request_admit(r);
}

/* --- handling --------------------------------------------------------------------------------- */

/* Its client has left, or it has lost its right, before the handler could listen for that: the
 * handler begins as if it had not, and hears of it then. */
static void handle_late(struct request *r)
{
    bool has_left = r->has_left;
    enum err revoked = r->revoked;
    r->has_left = false;
    r->revoked = ERR_OK;
    r->route->handle(r);
    r->has_left = has_left;
    r->revoked = revoked;
    leave_notify(r);
}

static void handle_now(struct request *r)
{
    if (once_must_bind(r))
        once_bind(r);
    else if (r->has_left || r->revoked != ERR_OK)
        handle_late(r);
    else
        r->route->handle(r);
}

static void begin_next_long(struct server *server)
{
    struct fair_entry *entry = fair_slots_next(server->requests.long_bodies);
    if (entry != NULL)
        loop_begin_steps(server->loop,
                         &H2O_STRUCT_FROM_MEMBER(struct request, body_turn, entry)->handling);
}

static void end_turn(struct request *r)
{
    loop_end_steps(r->server->loop, &r->handling);
    if (r->body_turn.part == NULL)
        return;
    fair_slots_leave(r->server->requests.long_bodies, &r->body_turn);
    begin_next_long(r->server);
}

static bool handle_long(struct steps *steps)
{
    struct request *r = H2O_STRUCT_FROM_MEMBER(struct request, handling, steps);
    if (once_read_some(r))
        return true;
    end_turn(r);
    handle_now(r);
    return false;
}

/* To read a long body takes milliseconds, and many may come at once: accounts take turns. */
void request_handle(struct request *r)
{
    const struct fair_owner owner = {r->account == NULL ? peer_address(r) : r->account->name_token,
                                     STR(""), STR("")};
    if (r->h2o->entity.len <= LONG_BODY_BYTES && !once_read_some(r)) {
        handle_now(r);
        return;
    }
    r->handling.step = handle_long;
    fair_slots_wait(r->server->requests.long_bodies, &r->body_turn, &owner, 1);
    begin_next_long(r->server);
}

/* Of several shards the nonce has one and the request's verb has another, most likely. */
static void on_nonce_used_first(struct request *r, enum err error, struct str reply)
{
    (void)reply; /* "ok": a replay has been answered with that */
    if (error != ERR_OK)
        respond_error(r, error, NULL);
    else
        request_handle(r);
}

void request_end_handler(struct request *r)
{
    end_turn(r);
    request_detach(r);
    if (r->on_gone != NULL)
        r->on_gone(r);
    r->on_gone = NULL;
    r->left = NULL;
}

void request_park(struct request *r)
{
    r->was_parked = true;
    held_nonces_park(r);
}

void request_handle_after_nonce(struct request *r)
{
    request_use_nonce(r, on_nonce_used_first);
}

void request_admit(struct request *r)
{
    if (r->account != NULL) {
        rights_list(r);
        connection_proves(r);
    }
    if (r->objection != ERR_OK)
        respond_error(r, r->objection, r->objection_detail);
    else if (r->nonce.is_set && r->server->shards->n > 1 && !r->route->uses_nonce_itself)
        request_handle_after_nonce(r);
    else
        request_handle(r);
}

void *request_alloc(struct request *r, size_t bytes)
{
    return h2o_mem_alloc_pool(&r->h2o->pool, bytes);
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
    ssize_t at = h2o_find_header_by_str(&r->h2o->headers, name, strlen(name), -1);
    if (at == -1)
        return (struct str){NULL, 0};
    h2o_iovec_t value = r->h2o->headers.entries[at].value;
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
    rates_return_nonce(r->server->gate.rates, r->account);
    request_detach(r);
    if (!r->is_answered && held_nonces_try_again(r))
        return;
    metrics_add(r->server->metrics, METRIC_NONCES_REUSED, 1);
    if (!r->is_answered || r->held != NULL)
        respond_instead(r, ERR_NONCE_USED);
}

static void on_call_reply(struct call *handle, enum err error, struct str reply)
{
    struct request_call *call = H2O_STRUCT_FROM_MEMBER(struct request_call, call, handle);
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
