/* SPDX-License-Identifier: MIT
 * start.c - see start.h. */
#include "shared/http/server/start.h"

#include "shared/http/access/audit.h"
#include "shared/http/access/authenticate.h"
#include "shared/http/access/gate.h"
#include "shared/http/access/held_nonces.h"
#include "shared/http/access/rates.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/once.h"
#include "shared/http/request/respond.h"
#include "shared/http/request/router.h"
#include "shared/http/wire/connection.h"
#include "shared/http/wire/linger.h"

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

/* Checks that what a route's `{name}` segments stand for is decodable, as the query must be. */
static bool is_good_path(struct request *r)
{
    return !router_is_pattern(str_of(r->route->path)) || is_good_encoding(r->server, r->path);
}

static void answer_preflight(struct request *r, const char *allow)
{
    respond_header(r, "allow", str_of(allow));
    respond_empty(r, 204);
}

static void reject(struct request *r, enum err error, const char *detail)
{
    r->rejection = error;
    r->rejection_detail = detail;
}

/* Bodies are bounded as they are sent, and none is unpacked. */
static bool is_encoded(struct request *r)
{
    struct str encoding = request_header(r, "content-encoding");
    return r->exchange.h2o->entity.len > 0 && encoding.n > 0 &&
           !str_eq_nocase(encoding, STR("identity"));
}

/* Reasons to reject the request, no matter who sends it. */
static void find_rejection(struct request *r)
{
    h2o_req_t *h2o = r->exchange.h2o;
    size_t head_max = r->server->config->wire.header_max_bytes;
    if (header_bytes(h2o) > head_max) {
        bool is_path = h2o->path.len > head_max / 2;
        reject(r, is_path ? ERR_URI_TOO_LONG : ERR_HEADERS_TOO_LARGE,
               explain_long_head(r, is_path ? "request line" : "headers"));
    } else if (r->route == NULL || r->rejection != ERR_OK) {
        return;
    } else if (h2o->entity.len > route_body_max(r->server, r->route)) {
        reject(r, route_too_large(r->route), explain_too_large(r, h2o->entity.len));
    } else if (is_encoded(r)) {
        reject(r, ERR_ENCODED, NULL);
    } else if (r->route->takes_key && request_header(r, "idempotency-key").n > ONCE_KEY_MAX_BYTES) {
        reject(r, ERR_BAD_REQUEST, "Idempotency-Key must be 1 to 128 bytes.");
    } else if (!is_good_path(r)) {
        reject(r, ERR_BAD_REQUEST, "The path is not valid: broken %-escapes, or not UTF-8.");
    } else if (!is_good_encoding(r->server, r->query)) {
        reject(r, ERR_BAD_REQUEST,
               "The query string is not valid: broken %-escapes, or not UTF-8.");
    }
}

static void answer_without_route(struct request *r, struct str method, const char *allow)
{
    if (r->rejection != ERR_OK) {
        respond_error(r, r->rejection, r->rejection_detail);
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
    r->exchange.pauses = r->exchange.h2o->version >= 0x200;
    if (!r->exchange.pauses) {
        r->exchange.h2o->http1_is_persistent = 0;
        linger_begin(&r->server->wire, r->exchange.h2o);
    }
    if (refusal->is_unread) {
        r->route = NULL;
        respond_error(r, refusal->error, refusal->detail);
        return true;
    }
    if (r->route != NULL && err_info(refusal->error)->status == 413)
        reject(r, refusal->error, explain_too_large(r, refusal->length));
    else if (refusal->error != ERR_OK)
        reject(r, refusal->error, refusal->detail);
    else if (r->route != NULL)
        reject(r, ERR_BUSY, "The body was not read: send the request again.");
    return false;
}

void start_request(struct server *server, h2o_req_t *h2o)
{
    struct refusal refusal = connections_take_refusal(server->wire.connections);
    struct request *r = request_create(server, h2o);
    /* First of all: the route says what an error looks like. */
    const char *allow;
    struct str method = {h2o->method.base, h2o->method.len};
    r->route = router_find(server->router, method, r->path, &allow);
    if (refusal.is_set && begin_refusal(r, &refusal))
        return;
    find_rejection(r);
    if (r->route == NULL) {
        answer_without_route(r, method, allow);
        return;
    }
    /* Credentials come before rejections, so that a signed query that is refused is used up all
     * the same, and nobody tries secrets in requests that are refused for something else. */
    bool must_prove = refusal.is_set && refusal.error == ERR_OK;
    bool is_anonymous = r->route->roles == ROLES_NONE ||
                        (r->rejection != ERR_OK && !must_prove && !authenticate_is_tried(r));
    if (is_anonymous || authenticate(r, request_admit))
        request_admit(r);
}

/* --- what other rooms do during its life ------------------------------------------------------ */

/* 503 means "send it again". */
static void on_begins(struct request *r, int status)
{
    held_nonces_end(r, status == 503 ? HELD_LOST : HELD_ANSWERED);
}

static void on_nonce_used(struct request *r, enum err error, struct str reply)
{
    (void)reply; /* "ok": a replay has been answered with that */
    if (error != ERR_OK && !r->nonce.is_record_only)
        respond_instead(r, error);
    else
        respond_held(r);
}

static void on_holds(struct request *r)
{
    request_use_nonce(r, on_nonce_used);
}

static void on_answered(struct request *r, int status)
{
    if (r->route != NULL && r->route->audit != AUDIT_NONE)
        audit_request(r, status);
    if (status >= 400 && status < 500)
        once_unbind(r);
}

static void on_left(struct request *r)
{
    held_nonces_end(r, HELD_LOST);
}

/* HTTP/2: a client that resets its stream, or whose connection is gone, does not wait for what it
 * has begun. */
static void on_gone(struct request *r)
{
    if (!r->exchange.is_answered && r->calls != NULL)
        on_answered(r, AUDIT_UNANSWERED);
    held_nonces_end(r, HELD_LOST);
}

static bool on_replayed(struct request *r)
{
    rates_return_nonce(r->server->gate->rates, r->account);
    return !r->exchange.is_answered && held_nonces_try_again(r);
}

const struct request_hooks start_hooks = {.parked = held_nonces_park,
                                          .begins = on_begins,
                                          .holds = on_holds,
                                          .answered = on_answered,
                                          .left = on_left,
                                          .gone = on_gone,
                                          .replayed = on_replayed};
