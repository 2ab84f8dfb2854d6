/* SPDX-License-Identifier: MIT
 * server.c - see server.h.
 *
 * libh2o answers some requests itself, before any handler: a body over the limit, a broken chunk. A
 * filter gives these answers the form of ours. */
#include "shared/http/server/server.h"

#include "shared/base/clock.h"
#include "shared/http/access/authenticate.h"
#include "shared/http/access/held_nonces.h"
#include "shared/http/access/rights.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/peer.h"
#include "shared/http/request/router.h"
#include "shared/http/websocket/websocket.h"
#include "shared/http/wire/connection.h"
#include "shared/http/wire/linger.h"
#include "shared/http/wire/listen.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    ACCEPTS_A_TURN = 64,
    ACCEPTS_AT_MOST = 2, /* of these, for which room was made */
    ACCEPT_AGAIN_MS = 100,
    HANDSHAKES_MS = 50, /* of TCP, to the balancer and back */
    QUIET_MS = 500,     /* between two requests on connections that a balancer still uses */
    SCRATCH_MAX = 32 << 20,
    PROBLEM_MAX = 2048,
    BODY_SLACK_BYTES = 1 << 20
};

struct start_handler {
    h2o_handler_t super;
    struct server *server;
};

static int on_request(h2o_handler_t *self, h2o_req_t *h2o)
{
    request_start(((struct start_handler *)self)->server, h2o);
    return 0;
}

/* --- libh2o's own errors ---------------------------------------------------------------------- */

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
                                    struct str *ret_query)
{
    const char *allow;
    struct str path;
    *ret_query = (struct str){NULL, 0};
    if (h2o->input.path.base == NULL || h2o->input.method.base == NULL)
        return NULL;
    request_split_target((struct str){h2o->input.path.base, h2o->input.path.len}, &path, ret_query);
    return router_find(server->router, (struct str){h2o->input.method.base, h2o->input.method.len},
                       path, &allow);
}

static enum err err_of_status(int status, const struct route *route)
{
    if (status == 413)
        return route == NULL ? ERR_TOO_LARGE : server_too_large(route);
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
        struct str query;
        const struct route *route = route_of(server, h2o, &query);
        struct refusal refusal = connections_take_refusal(server->connections);
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
            problem_write(&body, route == NULL ? NULL : route->put_problem,
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
        linger_begin(server, h2o);
    }
    h2o_setup_next_ostream(h2o, slot);
}

static void add_filter(struct server *server, h2o_pathconf_t *path)
{
    struct problem_filter *filter =
        (struct problem_filter *)h2o_create_filter(path, sizeof *filter);
    filter->super.on_setup_ostream = on_setup;
    filter->server = server;
}

/* --- accepting -------------------------------------------------------------------------------- */

static bool is_anybody_waiting(h2o_socket_t *listener)
{
    struct pollfd waiting = {.fd = h2o_socket_get_fd(listener), .events = POLLIN};
    return poll(&waiting, 1, 0) > 0;
}

static void stop_accepting(struct server *server)
{
    for (unsigned i = 0; i < LISTENERS_MAX; i++)
        if (server->listeners[i].socket != NULL)
            h2o_socket_read_stop(server->listeners[i].socket);
}

/* Where others must be closed for those that come, few are taken at a time and only those that are
 * there: what was accepted a moment ago is idle as well, and has not been read yet. */
static void on_accept(h2o_socket_t *socket, const char *error)
{
    const struct listener *listener = socket->data;
    struct server *server = listener->server;
    unsigned at_most_n = 0;
    if (error != NULL)
        return;
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        if (connections_are_at_most(server->connections) &&
            (at_most_n++ == ACCEPTS_AT_MOST || !is_anybody_waiting(socket)))
            return;
        if (!connections_make_room(server->connections)) {
            stop_accepting(server);
            return;
        }
        h2o_socket_t *accepted = h2o_evloop_socket_accept(socket);
        if (accepted == NULL) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
                log_write(LOG_WARN, "cannot accept", LOG_S("reason", strerror(errno)));
                stop_accepting(server);
                server_accept_later(server, ACCEPT_AGAIN_MS);
            }
            return;
        }
        connection_accept(server->connections, accepted, listener->tls);
    }
}

void server_accept_again(struct server *server)
{
    for (unsigned i = 0; i < LISTENERS_MAX; i++)
        if (server->listeners[i].socket != NULL)
            h2o_socket_read_start(server->listeners[i].socket, on_accept);
}

void server_accept_later(struct server *server, uint64_t after_ms)
{
    loop_set_deadline(server->loop, &server->accept_again, after_ms);
}

static void on_accept_again(struct deadline *deadline)
{
    server_accept_again(H2O_STRUCT_FROM_MEMBER(struct server, accept_again, deadline));
}

/* --- life ------------------------------------------------------------------------------------- */

size_t server_body_max(const struct server *server, const struct route *route)
{
    return route->body_max_bytes != 0 ? route->body_max_bytes : server->config->body_max_bytes;
}

size_t server_limit_bodies(struct server *server, size_t bytes)
{
    size_t before = server->h2o_config.max_request_entity_size;
    server->h2o_config.max_request_entity_size = bytes;
    return before;
}

enum err server_too_large(const struct route *route)
{
    return route->too_large != ERR_OK ? route->too_large : ERR_TOO_LARGE;
}

/* libh2o knows one maximum and holds to it before it knows the route, so it is that of the route
 * that takes most. The slack is for HTTP/2, where libh2o resets the stream of a body past it: what
 * is only a little too large still gets its 413, from request_start. */
static size_t largest_body(const struct server *server, const struct route *const *tables)
{
    size_t most = server->config->body_max_bytes;
    for (; *tables != NULL; tables++)
        for (const struct route *route = *tables; route->path != NULL; route++)
            if (server_body_max(server, route) > most)
                most = server_body_max(server, route);
    return most + BODY_SLACK_BYTES;
}

void server_init(struct server *server, struct loop *loop, const struct server_config *config,
                 struct shards *shards, struct metrics *metrics, const struct route *const *tables,
                 const char *node_id)
{
    *server = (struct server){.loop = loop, .config = config, .shards = shards, .metrics = metrics};
    snprintf(server->node_id, sizeof server->node_id, "%s", node_id);
    server->router = router_create(tables);
    gate_init(&server->gate, loop, config, shards, metrics);
    server->requests.long_bodies = fair_slots_create(&(struct fair_slots_config){.slot_n = 1});
    rights_init(server);
    held_nonces_init(server);
    server->accept_again.on_expire = on_accept_again;
    buf_init(&server->scratch, SCRATCH_MAX);
    h2o_config_init(&server->h2o_config);
    /* No Server header: it says nothing that clients need, and costs each answer a sprintf. */
    server->h2o_config.server_name = h2o_iovec_init(NULL, 0);
    server->h2o_config.max_request_entity_size = largest_body(server, tables);
    server->h2o_config.http1.req_timeout = config->idle_ms;
    h2o_hostconf_t *host =
        h2o_config_register_host(&server->h2o_config, h2o_iovec_init(H2O_STRLIT("default")), 65535);
    h2o_pathconf_t *all = h2o_config_register_path(host, "/", 0);
    struct start_handler *start = (struct start_handler *)h2o_create_handler(all, sizeof *start);
    start->super.on_req = on_request;
    start->server = server;
    add_filter(server, all);
    add_filter(server, &host->fallback_path);
    h2o_context_init(&server->context, loop->h2o, &server->h2o_config);
    /* Bodies are bounded by what is held for them, so none needs a file in /tmp. */
    h2o_socket_buffer_mmap_settings.threshold = SIZE_MAX;
    server->connections = connections_create(server);
    server->accept.ctx = &server->context;
    server->accept.hosts = server->h2o_config.hosts;
}

void server_start(struct server *server, int fd, struct tls *tls)
{
    struct listener *listener = server->listeners;
    while (listener->socket != NULL)
        listener++;
    listener->socket = h2o_evloop_socket_create(server->loop->h2o, fd, H2O_SOCKET_FLAG_DONT_READ);
    listener->socket->data = listener;
    listener->server = server;
    listener->tls = tls;
    h2o_socket_read_start(listener->socket, on_accept);
}

void server_drain(struct server *server)
{
    server->is_draining = true;
    server->drain.handshakes_end_ms = clock_mono_ms() + HANDSHAKES_MS;
    for (unsigned i = 0; i < LISTENERS_MAX; i++)
        if (server->listeners[i].socket != NULL)
            listen_refuse(h2o_socket_get_fd(server->listeners[i].socket));
    h2o_context_request_shutdown(&server->context);
    websocket_drain(server, false);
}

/* Nobody new comes (listen_refuse). A listener that is closed resets the connections that wait in
 * its queue, so each of them is accepted before. */
static bool close_listeners(struct server *server)
{
    bool is_open = false, is_early = clock_mono_ms() < server->drain.handshakes_end_ms;
    for (unsigned i = 0; i < LISTENERS_MAX; i++) {
        h2o_socket_t *socket = server->listeners[i].socket;
        if (socket == NULL)
            continue;
        if (is_early || is_anybody_waiting(socket)) {
            is_open = true;
            continue;
        }
        h2o_socket_read_stop(socket);
        h2o_socket_close(socket);
        server->listeners[i].socket = NULL;
    }
    if (!is_open)
        loop_cancel_deadline(server->loop, &server->accept_again);
    return !is_open;
}

/* A balancer keeps connections open between requests, and may use one at any moment: each is
 * closed after its next answer. Those that nobody has used for a while are closed by our end. */
static bool is_quiet(struct server *server)
{
    uint64_t now_ms = clock_mono_ms();
    if (server->requests.numbered_n != server->drain.requests_n) {
        server->drain.requests_n = server->requests.numbered_n;
        server->drain.quiet_from_ms = now_ms;
    }
    return connections_look(server->connections).open_n == 0 ||
           now_ms - server->drain.quiet_from_ms >= QUIET_MS;
}

bool server_is_drained(struct server *server)
{
    bool is_closed = close_listeners(server), is_over = is_quiet(server);
    return is_closed && is_over && server_is_idle(server);
}

bool server_is_idle(const struct server *server)
{
    return server->requests.open_n == 0 && server->websockets.open_n == 0 &&
           server->lingers.open_n == 0;
}

void server_turn_end(struct server *server)
{
    connections_settle(server->connections);
    held_nonces_report(server);
}

void server_fini(struct server *server)
{
    connections_destroy(server->connections);
    fair_slots_destroy(server->requests.long_bodies);
    router_destroy(server->router);
    gate_fini(&server->gate);
    held_nonces_fini(server);
    buf_fini(&server->scratch);
    /* Connections, context and loop of libh2o 2.2 go with the process. */
}
