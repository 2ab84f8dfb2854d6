/* SPDX-License-Identifier: MIT
 * inner.c - see inner.h. libh2o's record of a request only lends its memory and its fields here: no
 * connection belongs to it, and libh2o never sees it. */
#include "shared/http/request/inner.h"

#include "shared/base/mem.h"
#include "shared/http/request/router.h"

#include <stdlib.h>

static h2o_iovec_t copy(h2o_mem_pool_t *pool, struct str text)
{
    return h2o_strdup(pool, text.at, text.n);
}

static h2o_req_t *record_of(const struct inner_call *call)
{
    h2o_req_t *h2o = mem_zeroed(sizeof *h2o);
    h2o_mem_init_pool(&h2o->pool);
    h2o->version = 0x101;
    h2o->method = h2o->input.method = copy(&h2o->pool, str_of(call->method));
    h2o->path = h2o->input.path = copy(&h2o->pool, call->target);
    if (call->body.n > 0)
        h2o->entity = copy(&h2o->pool, call->body);
    if (call->id.n > 0) {
        h2o_iovec_t id = copy(&h2o->pool, call->id);
        h2o_add_header_by_str(&h2o->pool, &h2o->headers, H2O_STRLIT("x-request-id"), 0, NULL,
                              id.base, id.len);
    }
    if (call->user.n > 0) {
        h2o_iovec_t user = copy(&h2o->pool, call->user);
        h2o_add_header_by_str(&h2o->pool, &h2o->headers, H2O_STRLIT("x-parley-user"), 0, NULL,
                              user.base, user.len);
    }
    if (call->takes_events)
        h2o_add_header_by_str(&h2o->pool, &h2o->headers, H2O_STRLIT("accept"), 0, NULL,
                              H2O_STRLIT("text/event-stream"));
    return h2o;
}

static bool is_admitted(const struct request *r, const struct account *account)
{
    if (r->route == NULL || account == NULL)
        return r->route != NULL && r->route->roles == ROLES_NONE;
    return (r->route->roles & 1u << account->role) != 0;
}

void inner_start(struct inner *inner, struct server *server, const struct inner_call *call)
{
    const char *allow;
    struct request *r = request_create(server, record_of(call));
    inner->request = r;
    r->inner = inner;
    r->route = router_find(server->router, str_of(call->method), r->path, &allow);
    if (!is_admitted(r, call->account))
        abort();
    r->account = call->account;
    r->is_behind = call->is_behind;
    r->peer = request_copy(r, call->peer);
    request_admit(r);
}

struct str inner_header(const struct inner *inner, const char *name)
{
    const h2o_headers_t *headers = &inner->request->exchange.h2o->res.headers;
    ssize_t at = h2o_find_header_by_str(headers, name, strlen(name), -1);
    if (at == -1)
        return (struct str){NULL, 0};
    h2o_iovec_t value = headers->entries[at].value;
    return (struct str){value.base, value.len};
}

void inner_end(struct inner *inner, bool is_taken)
{
    if (inner->request == NULL)
        return;
    h2o_req_t *h2o = inner->request->exchange.h2o;
    inner->request->exchange.is_refused = !is_taken;
    inner->request = NULL;
    h2o_mem_clear_pool(&h2o->pool); /* which notifies handle.c */
    free(h2o);
}

void inner_withdraw(struct inner *inner)
{
    if (inner->request != NULL)
        inner->request->is_withdrawn = true;
    inner_end(inner, false);
}
