/* SPDX-License-Identifier: MIT
 * explain.c - see explain.h. */
#include "shared/http/request/explain.h"

#include "shared/base/json_fault.h"
#include "shared/base/shown.h"
#include "shared/http/request/respond.h"
#include "shared/http/request/router.h"

#include <stdarg.h>
#include <stdio.h>

enum { DETAIL_BYTES = 1024 };

/* --- texts ------------------------------------------------------------------------------------ */

void explain(struct request *r, enum err error, const char *format, ...)
{
    char detail[DETAIL_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    respond_error(r, error, detail);
}

static const char *keep(struct request *r, struct buf *b)
{
    const char *text = request_copy(r, buf_str(b)).at;
    buf_fini(b);
    return text;
}

const char *explain_quoted(struct request *r, struct str s)
{
    struct buf b;
    buf_init(&b, DETAIL_BYTES);
    buf_put_quoted(&b, s);
    return keep(r, &b);
}

static bool refuse(struct request *r, struct buf *b)
{
    respond_error(r, ERR_BAD_REQUEST, keep(r, b));
    return false;
}

/* --- members and parameters ------------------------------------------------------------------- */

bool explain_member(struct request *r, const char *name, const char *expected)
{
    struct buf b;
    buf_init(&b, DETAIL_BYTES);
    json_put_fault(&b, r->members, r->member_n, name, expected);
    bool is_signer = r->is_signed && str_eq(str_of(name), STR("User"));
    if (request_member(r, name) == NULL && request_param(r, name).at != NULL && !is_signer)
        buf_printf(&b, " The query string has it, but this route takes it in the JSON body.");
    return refuse(r, &b);
}

static struct str param_alike(struct request *r, const char *name)
{
    for (size_t i = 0; i < r->param_n; i++)
        if (json_is_alike(r->params[i].name, str_of(name)))
            return r->params[i].name;
    return (struct str){NULL, 0};
}

static void put_param(struct buf *b, struct request *r, const char *name, const char *expected)
{
    struct str value = request_param(r, name), alike;
    if (value.n > QUOTED_MAX_BYTES) {
        buf_printf(b, "%s must be %s, not one of %llu %s.", name, expected,
                   COUNTED(value.n, "byte"));
    } else if (value.n > 0) {
        buf_printf(b, "%s must be %s, not ", name, expected);
        buf_put_quoted(b, value);
        buf_put_char(b, '.');
    } else if (value.at != NULL) {
        buf_printf(b, "%s is empty: it must be %s.", name, expected);
    } else if ((alike = param_alike(r, name)).at != NULL) {
        buf_printf(b, "%s is missing, but there is ", name);
        buf_put_quoted(b, alike);
        buf_printf(b, ": a name must be spelt exactly. %s must be %s.", name, expected);
    } else {
        buf_printf(b, "%s is missing from the query string: it must be %s.", name, expected);
    }
}

bool explain_param(struct request *r, const char *name, const char *expected)
{
    struct buf b;
    buf_init(&b, DETAIL_BYTES);
    put_param(&b, r, name, expected);
    if (request_param(r, name).at == NULL && r->exchange.h2o->entity.len > 0)
        buf_lit(&b, " This route does not read a body.");
    return refuse(r, &b);
}

bool explain_either(struct request *r, const char *name, const char *expected)
{
    bool is_in_body = request_param(r, name).at == NULL && r->members != NULL;
    struct buf b;
    buf_init(&b, DETAIL_BYTES);
    if (is_in_body)
        json_put_fault(&b, r->members, r->member_n, name, expected);
    else
        put_param(&b, r, name, expected);
    return refuse(r, &b);
}

/* --- what is not there ------------------------------------------------------------------------ */

bool explain_missing(struct request *r, const char *what, struct str name, const char *hint)
{
    explain(r, ERR_NOT_FOUND, "There is no %s %s for this account.%s%s", what,
            explain_quoted(r, name), hint == NULL ? "" : " ", hint == NULL ? "" : hint);
    return false;
}

static bool has_route(const struct request *r, struct str path)
{
    const char *allow;
    return router_find(r->server->router, STR("GET"), path, &allow) != NULL;
}

void explain_no_route(struct request *r)
{
    const char *nearest = router_nearest(r->server->router, r->path);
    const char *shown = explain_quoted(r, r->path);
    if (nearest != NULL)
        explain(r, ERR_NO_ROUTE, "There is no route %s: did you mean %s?", shown, nearest);
    else if (has_route(r, STR("/openapi.yaml")))
        explain(r, ERR_NO_ROUTE,
                "There is no route %s. /openapi.yaml lists all routes, /handbook explains them.",
                shown);
    else
        explain(r, ERR_NO_ROUTE,
                "There is no route %s on this node: other nodes may have it (--target).", shown);
}

void explain_method(struct request *r, const char *allow)
{
    struct str method = {r->exchange.h2o->method.base, r->exchange.h2o->method.len};
    explain(r, ERR_METHOD, "%s takes %s, not %s.", explain_quoted(r, r->path), allow,
            explain_quoted(r, method));
}

/* --- who may ---------------------------------------------------------------------------------- */

static void put_roles(struct buf *b, unsigned roles)
{
    unsigned left_n = 0;
    for (unsigned i = 0; i < ROLE_NR; i++)
        left_n += (roles & 1u << i) != 0;
    for (unsigned i = 0; i < ROLE_NR; i++) {
        if ((roles & 1u << i) == 0)
            continue;
        buf_put(b, role_name(i));
        if (--left_n > 0)
            buf_put(b, left_n == 1 ? STR(" or ") : STR(", "));
    }
}

bool explain_role(struct request *r)
{
    struct buf roles;
    buf_init(&roles, DETAIL_BYTES);
    put_roles(&roles, r->route->roles);
    explain(r, ERR_FORBIDDEN,
            "This account has the role %.*s: %s %s needs an account with the role %s.",
            STR_ARG(role_name(r->account->role)), r->route->method, r->route->path,
            keep(r, &roles));
    return false;
}

/* --- what is too large ------------------------------------------------------------------------ */

/* As people read it: 1048576 is "1 MiB". */
static void put_size(struct buf *b, uint64_t bytes)
{
    bool is_mib = bytes >= 1 << 20 && bytes % (1 << 20) == 0;
    bool is_kib = !is_mib && bytes >= 1 << 10 && bytes % (1 << 10) == 0;
    buf_printf(b, "%llu %s",
               (unsigned long long)(is_mib   ? bytes >> 20
                                    : is_kib ? bytes >> 10
                                             : bytes),
               is_mib   ? "MiB"
               : is_kib ? "KiB"
                        : "bytes");
}

void explain_put_too_large(struct buf *b, const struct server *server, const struct route *route,
                           bool is_authenticated, uint64_t sent)
{
    size_t max = route_body_max(server, route), most = max;
    bool is_for_all = route->roles == ROLES_NONE || route->is_open != NULL;
    if (is_for_all && !is_authenticated && sent <= max)
        most = route_anonymous_max(server, route);
    buf_printf(b, "The body is too large: %s %s takes at most ", route->method, route->path);
    put_size(b, most);
    if (most < max && route->roles != ROLES_NONE)
        buf_lit(b, " without credentials");
    if (sent > 0)
        buf_printf(b, ", and this one has %llu %s", COUNTED(sent, "byte"));
    buf_put_char(b, '.');
}

const char *explain_long_head(struct request *r, const char *what)
{
    struct buf b;
    buf_init(&b, DETAIL_BYTES);
    buf_lit(&b, "The request line and headers together may take ");
    put_size(&b, r->server->config->wire.header_max_bytes);
    buf_printf(&b, ": shorten the %s.", what);
    return keep(r, &b);
}

const char *explain_too_large(struct request *r, uint64_t sent)
{
    struct buf b;
    buf_init(&b, DETAIL_BYTES);
    explain_put_too_large(&b, r->server, r->route, r->account != NULL, sent);
    return keep(r, &b);
}
