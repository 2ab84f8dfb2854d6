/* SPDX-License-Identifier: MIT
 * connection_idle.c - notes which connections are idle, and closes idle ones for new ones
 * (connection_internal.h). Authenticated ones are closed last, but leave a share of the places to
 * anonymous ones, since every new connection is anonymous until its first request was read. */
#include "shared/base/clock.h"
#include "shared/http/wire/connection_internal.h"

#include <poll.h>

enum {
    EVICT_TRIES = 4,
    NEWCOMERS_SHARE = 8, /* of the connections: left to anonymous ones */
    NEWCOMERS_LEAST = 8,
    SILENT_MOST_MS = 1000,
    SILENT_LEAST_MS = 20
};

void connections_have_room(struct connections *all)
{
    if (!all->is_full)
        return;
    all->is_full = false;
    all->wire->rules->accept_again(all->wire->arg);
}

void connection_set_idle(struct connection *c, bool is_idle)
{
    if (!is_idle) {
        address_take_idle(c->address, &c->idle, c->is_authenticated);
        return;
    }
    address_put_idle(c->address, &c->idle, c->is_authenticated);
    connections_have_room(c->all);
}

bool connections_are_at_most(const struct connections *all)
{
    const struct wire *wire = all->wire;
    size_t most = wire->config->connections_max;
    return most > 0 && all->connection_n + wire->lingers_n >= most;
}

static size_t newcomers_n(const struct connections *all)
{
    size_t most = all->wire->config->connections_max, share = most / NEWCOMERS_SHARE;
    size_t least = most / 2 < NEWCOMERS_LEAST ? most / 2 : NEWCOMERS_LEAST;
    return share > least ? share : least;
}

/* Is its first request still on its way, or not read yet, because its client or this node is slow?
 * Those that come are left alone for a while. A crowd that asks nothing would keep others out, so
 * each one that is closed without a request halves that time, until there is room for many. Of TLS,
 * those whose handshake has begun keep all of it, from each step on: their clients had to work. */
static bool is_awaited(const struct connection *c)
{
    struct pollfd unread = {.fd = h2o_socket_get_fd(c->socket), .events = POLLIN};
    uint64_t age_ms = clock_mono_ms() - c->accepted_ms;
    if (c->has_asked || age_ms >= SILENT_MOST_MS)
        return false;
    return age_ms < (c->has_greeted ? SILENT_MOST_MS : c->all->silent_ms) ||
           poll(&unread, 1, 0) > 0;
}

static void note_silent(struct connections *all)
{
    all->silent_ms = all->silent_ms / 2 > SILENT_LEAST_MS ? all->silent_ms / 2 : SILENT_LEAST_MS;
}

bool connections_make_room(struct connections *all)
{
    const struct wire *wire = all->wire;
    if (all->connection_n + newcomers_n(all) < wire->config->connections_max)
        all->silent_ms = SILENT_MOST_MS;
    for (unsigned tries = 0; tries <= EVICT_TRIES; tries++) {
        if (!connections_are_at_most(all))
            return true;
        struct list_link *oldest = addresses_oldest_idle(all->addresses, newcomers_n(all));
        if (oldest == NULL || tries == EVICT_TRIES)
            break;
        struct connection *c = container_of(oldest, struct connection, idle);
        if (is_awaited(c)) {
            all->wire->rules->accept_later(all->wire->arg, SILENT_LEAST_MS);
            break;
        }
        if (!c->has_asked)
            note_silent(all);
        connection_set_idle(c, false);
        metrics_add(wire->metrics, METRIC_IDLE_CLOSED, 1);
        (void)!connection_close_idle(c); /* HTTP/2 may end a little later */
    }
    all->is_full = true;
    return false;
}

struct connections_view connections_read_view(const struct connections *all)
{
    size_t idle_n[IDLE_NR];
    addresses_count_idle(all->addresses, idle_n);
    return (struct connections_view){.open_n = all->connection_n,
                                     .idle_n = idle_n[IDLE_ANONYMOUS] + idle_n[IDLE_AUTHENTICATED],
                                     .idle_authenticated_n = idle_n[IDLE_AUTHENTICATED],
                                     .held_bytes = all->held_bytes,
                                     .anonymous_bytes = all->anonymous_bytes,
                                     .stream_bytes = all->stream_bytes};
}
