/* SPDX-License-Identifier: MIT
 * own_errors.c - see own_errors.h. */
#include "shared/http/server/own_errors.h"

#include "shared/http/access/authenticate.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/router.h"
#include "shared/http/wire/connection.h"
#include "shared/http/wire/linger.h"

enum { PROBLEM_MAX = 2048 };

struct problem_filter {
    h2o_filter_t super;
    struct server *server;
};

struct problem_ostream {
    h2o_ostream_t super;
    struct str body;
};

static void send_problem(h2o_ostream_t *self, h2o_req_t *h2o, h2o_iovec_t *bufs, size_t bufs_n,
                         h2o_send_state_t state)
{
    struct problem_ostream *problem = (struct problem_ostream *)self;
    (void)bufs;
    (void)bufs_n;
    h2o_iovec_t body = h2o_iovec_init(problem->body.at, problem->body.n);
    problem->body.n = 0;
    h2o_ostream_send_next(self, h2o, &body, 1, state);
}

/* The route that the request would have had; NULL when libh2o did not get so far. */
static const struct route *route_of(const struct server *server, const h2o_req_t *h2o,
                                    struct str *ret_path, struct str *ret_query)
{
    const char *allow;
    *ret_path = *ret_query = (struct str){NULL, 0};
    if (h2o->input.path.base == NULL || h2o->input.method.base == NULL)
        return NULL;
    request_split_target((struct str){h2o->input.path.base, h2o->input.path.len}, ret_path,
                         ret_query);
    return router_find(server->router, (struct str){h2o->input.method.base, h2o->input.method.len},
                       *ret_path, &allow);
}

static enum err err_of_status(int status, const struct route *route)
{
    if (status == 413)
        return route == NULL ? ERR_TOO_LARGE : route_too_large(route);
    return status >= 500 ? ERR_INTERNAL : ERR_BAD_REQUEST;
}

/* In the request's pool, or a constant. */
static const char *detail_of(const struct server *server, h2o_req_t *h2o, const struct route *route,
                             const struct err_info *info)
{
    struct buf detail;
    if (route == NULL || info->status != 413)
        return info->text;
    buf_init(&detail, PROBLEM_MAX);
    explain_put_too_large(&detail, server, route, false, 0);
    const char *text = h2o_strdup(&h2o->pool, detail.at, detail.n).base;
    buf_fini(&detail);
    return text;
}

static void on_setup(h2o_filter_t *self, h2o_req_t *h2o, h2o_ostream_t **slot)
{
    ssize_t type = h2o_find_header(&h2o->res.headers, H2O_TOKEN_CONTENT_TYPE, -1);
    bool is_ours = type == -1 || !h2o_memis(h2o->res.headers.entries[type].value.base,
                                            h2o->res.headers.entries[type].value.len,
                                            H2O_STRLIT("text/plain; charset=utf-8"));
    if (h2o->res.status >= 400 && !is_ours) {
        struct server *server = ((struct problem_filter *)self)->server;
        struct str path, query;
        const struct route *route = route_of(server, h2o, &path, &query);
        struct refusal refusal = connections_take_refusal(server->wire.connections);
        if (route != NULL && route->roles != ROLES_NONE && refusal.error == ERR_OK)
            authenticate_use_up(server, query);
        const struct err_info *info = err_info(
            refusal.error != ERR_OK ? refusal.error : err_of_status(h2o->res.status, route));
        if (refusal.error != ERR_OK)
            h2o->res.status = info->status;
        h2o->res.reason = err_reason(h2o->res.status);
        h2o->http1_is_persistent = 0; /* nobody looks at what comes after it */
        struct problem_ostream *problem =
            (struct problem_ostream *)h2o_add_ostream(h2o, sizeof *problem, slot);
        struct str id = request_id_of(server, h2o);
        struct buf body = {.at = h2o_mem_alloc_pool(&h2o->pool, PROBLEM_MAX),
                           .cap = PROBLEM_MAX,
                           .max = PROBLEM_MAX};
        const char *written =
            problem_write(&body, router_problem_writer(server->router, route, path),
                          &(struct problem){.info = info,
                                            .status = h2o->res.status,
                                            .detail = detail_of(server, h2o, route, info),
                                            .instance = id});
        problem->body = buf_str(&body);
        problem->super.do_send = send_problem;
        h2o->res.content_length = body.n;
        h2o->res.headers.entries[type].value = h2o_iovec_init(written, strlen(written));
        h2o_add_header_by_str(&h2o->pool, &h2o->res.headers, H2O_STRLIT("x-request-id"), 0, NULL,
                              id.at, id.n);
        h2o_add_header_by_str(&h2o->pool, &h2o->res.headers, H2O_STRLIT("x-content-type-options"),
                              0, NULL, H2O_STRLIT("nosniff"));
        if (info->status == 503)
            h2o_add_header_by_str(&h2o->pool, &h2o->res.headers, H2O_STRLIT("retry-after"), 0, NULL,
                                  H2O_STRLIT("1"));
        slot = &problem->super.next;
        linger_begin(&server->wire, h2o);
    }
    h2o_setup_next_ostream(h2o, slot);
}

void own_errors_add(struct server *server, h2o_pathconf_t *path)
{
    struct problem_filter *filter =
        (struct problem_filter *)h2o_create_filter(path, sizeof *filter);
    filter->super.on_setup_ostream = on_setup;
    filter->server = server;
}
