/* SPDX-License-Identifier: MIT
 * server.c - see server_run.h. */
#include "shared/http/server/server_run.h"

#include "shared/base/clock.h"
#include "shared/base/mem.h"
#include "shared/http/access/admit.h"
#include "shared/http/access/gate.h"
#include "shared/http/access/held_nonces.h"
#include "shared/http/access/rights.h"
#include "shared/http/request/router.h"
#include "shared/http/server/own_errors.h"
#include "shared/http/server/start.h"
#include "shared/http/websocket/websocket.h"
#include "shared/http/wire/connection.h"
#include "shared/http/wire/listen.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum {
    ACCEPTS_A_TURN = 64,
    ACCEPTS_AT_MOST = 2, /* of these, for which room was made */
    ACCEPT_AGAIN_MS = 100,
    HANDSHAKES_MS = 50, /* of TCP, to the balancer and back */
    QUIET_MS = 500,     /* between two requests on connections that a balancer still uses */
    SCRATCH_MAX = 32 << 20,
    BODY_SLACK_BYTES = 1 << 20
};

struct start_handler {
    h2o_handler_t super;
    struct server *server;
};

static int on_request(h2o_handler_t *self, h2o_req_t *h2o)
{
    start_request(((struct start_handler *)self)->server, h2o);
    return 0;
}

struct listener {
    h2o_socket_t *socket; /* NULL: none */
    struct server *server;
    struct tls *tls; /* NULL: without TLS */
};

/* The addresses on which a server accepts, and how far its drain is. */
struct listeners {
    struct server *server;
    struct listener of[LISTENERS_MAX];
    struct deadline accept_again;
    uint64_t handshakes_end_ms; /* until then clients may complete connections that they began */
    uint64_t seen_n, quiet_from_ms; /* the last look's numbered_n, and since when it is so */
};

/* --- accepting -------------------------------------------------------------------------------- */

static void accept_later(void *arg, uint64_t after_ms)
{
    struct server *server = arg;
    loop_set_deadline(server->loop, &server->listeners->accept_again, after_ms);
}

static bool is_anybody_waiting(h2o_socket_t *listener)
{
    struct pollfd waiting = {.fd = h2o_socket_get_fd(listener), .events = POLLIN};
    return poll(&waiting, 1, 0) > 0;
}

static void stop_accepting(struct server *server)
{
    for (unsigned i = 0; i < LISTENERS_MAX; i++)
        if (server->listeners->of[i].socket != NULL)
            h2o_socket_read_stop(server->listeners->of[i].socket);
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
        if (connections_are_at_most(server->wire.connections) &&
            (at_most_n++ == ACCEPTS_AT_MOST || !is_anybody_waiting(socket)))
            return;
        if (!connections_make_room(server->wire.connections)) {
            stop_accepting(server);
            return;
        }
        h2o_socket_t *accepted = h2o_evloop_socket_accept(socket);
        if (accepted == NULL) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
                log_write(LOG_WARN, "cannot accept", LOG_S("reason", strerror(errno)));
                stop_accepting(server);
                accept_later(server, ACCEPT_AGAIN_MS);
            }
            return;
        }
        connection_accept(server->wire.connections, accepted, listener->tls);
    }
}

static void accept_again(void *arg)
{
    struct server *server = arg;
    for (unsigned i = 0; i < LISTENERS_MAX; i++)
        if (server->listeners->of[i].socket != NULL)
            h2o_socket_read_start(server->listeners->of[i].socket, on_accept);
}

static void on_accept_again(struct deadline *deadline)
{
    accept_again(container_of(deadline, struct listeners, accept_again)->server);
}

/* --- life ------------------------------------------------------------------------------------- */

/* libh2o knows one maximum and holds to it before it knows the route, so it is that of the route
 * that takes most. The slack is for HTTP/2, where libh2o resets the stream of a body past it: what
 * is only a little too large still gets its 413, from start.c. */
static size_t largest_body(const struct server *server, const struct route *const *tables)
{
    size_t most = server->config->body_max_bytes;
    for (; *tables != NULL; tables++)
        for (const struct route *route = *tables; route->path != NULL; route++)
            if (route_body_max(server, route) > most)
                most = route_body_max(server, route);
    return most + BODY_SLACK_BYTES;
}

void server_init(struct server *server, struct loop *loop, const struct server_config *config,
                 struct shards *shards, struct metrics *metrics, const struct route *const *tables,
                 const char *node_id)
{
    *server = (struct server){.loop = loop, .config = config, .shards = shards, .metrics = metrics};
    snprintf(server->node_id, sizeof server->node_id, "%s", node_id);
    server->router = router_create(tables);
    server->gate = gate_create(loop, config, shards, metrics);
    server->requests.long_bodies = fair_slots_create(&(struct fair_slots_config){.slot_n = 1});
    server->hooks = &start_hooks;
    server->held_nonces = held_nonces_create();
    server->websockets = websockets_create();
    server->listeners = mem_zeroed(sizeof *server->listeners);
    server->listeners->server = server;
    server->listeners->accept_again.on_expire = on_accept_again;
    buf_init(&server->scratch, SCRATCH_MAX);
    h2o_config_init(&server->wire.h2o_config);
    /* No Server header: it says nothing that clients need, and costs each answer a sprintf. */
    server->wire.h2o_config.server_name = h2o_iovec_init(NULL, 0);
    server->wire.h2o_config.max_request_entity_size = largest_body(server, tables);
    server->wire.h2o_config.http1.req_timeout = config->wire.idle_ms;
    h2o_hostconf_t *host = h2o_config_register_host(&server->wire.h2o_config,
                                                    h2o_iovec_init(H2O_STRLIT("default")), 65535);
    h2o_pathconf_t *all = h2o_config_register_path(host, "/", 0);
    struct start_handler *start = (struct start_handler *)h2o_create_handler(all, sizeof *start);
    start->super.on_req = on_request;
    start->server = server;
    own_errors_add(server, all);
    own_errors_add(server, &host->fallback_path);
    h2o_context_init(&server->wire.context, loop->h2o, &server->wire.h2o_config);
    /* Bodies are bounded by what is held for them, so none needs a file in /tmp. */
    h2o_socket_buffer_mmap_settings.threshold = SIZE_MAX;
    static const struct wire_rules rules = {.admit = admit,
                                            .body_most = admit_body_most,
                                            .accept_again = accept_again,
                                            .accept_later = accept_later};
    server->wire.loop = loop;
    server->wire.metrics = metrics;
    server->wire.config = &config->wire;
    server->wire.rules = &rules;
    server->wire.arg = server;
    server->wire.connections = connections_create(&server->wire);
    server->wire.accept.ctx = &server->wire.context;
    server->wire.accept.hosts = server->wire.h2o_config.hosts;
}

void server_start(struct server *server, int fd, struct tls *tls)
{
    struct listener *listener = server->listeners->of;
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
    server->listeners->handshakes_end_ms = clock_mono_ms() + HANDSHAKES_MS;
    for (unsigned i = 0; i < LISTENERS_MAX; i++)
        if (server->listeners->of[i].socket != NULL)
            listen_refuse(h2o_socket_get_fd(server->listeners->of[i].socket));
    h2o_context_request_shutdown(&server->wire.context);
    websocket_drain(server, false);
}

/* Nobody new comes (listen_refuse). A listener that is closed resets the connections that wait in
 * its queue, so each of them is accepted before. */
static bool close_listeners(struct server *server)
{
    bool is_open = false, is_early = clock_mono_ms() < server->listeners->handshakes_end_ms;
    for (unsigned i = 0; i < LISTENERS_MAX; i++) {
        h2o_socket_t *socket = server->listeners->of[i].socket;
        if (socket == NULL)
            continue;
        if (is_early || is_anybody_waiting(socket)) {
            is_open = true;
            continue;
        }
        h2o_socket_read_stop(socket);
        h2o_socket_close(socket);
        server->listeners->of[i].socket = NULL;
    }
    if (!is_open)
        loop_cancel_deadline(server->loop, &server->listeners->accept_again);
    return !is_open;
}

/* A balancer keeps connections open between requests, and may use one at any moment: each is
 * closed after its next answer. Those that nobody has used for a while are closed by our end. */
static bool is_quiet(struct server *server)
{
    uint64_t now_ms = clock_mono_ms();
    if (server->requests.numbered_n != server->listeners->seen_n) {
        server->listeners->seen_n = server->requests.numbered_n;
        server->listeners->quiet_from_ms = now_ms;
    }
    return connections_read_view(server->wire.connections).open_n == 0 ||
           now_ms - server->listeners->quiet_from_ms >= QUIET_MS;
}

bool server_is_drained(struct server *server)
{
    bool is_closed = close_listeners(server), is_over = is_quiet(server);
    return is_closed && is_over && server_is_idle(server);
}

bool server_is_idle(const struct server *server)
{
    return server->requests.open_n == 0 && server->websockets->open_n == 0 &&
           server->wire.lingers_n == 0;
}

void server_check_rights(struct server *server)
{
    const struct accounts *accounts = rights_check(server);
    if (accounts != NULL)
        websocket_close_revoked(server, accounts);
}

void server_turn_end(struct server *server)
{
    connections_finish_pass(server->wire.connections);
    held_nonces_report(server);
}

void server_fini(struct server *server)
{
    connections_destroy(server->wire.connections);
    fair_slots_destroy(server->requests.long_bodies);
    router_destroy(server->router);
    gate_destroy(server->gate);
    held_nonces_destroy(server->held_nonces);
    websockets_destroy(server->websockets);
    free(server->listeners);
    buf_fini(&server->scratch);
    /* Connections, context and loop of libh2o 2.2 go with the process. */
}
