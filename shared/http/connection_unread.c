/* SPDX-License-Identifier: MIT
 * connection_unread.c - what libh2o holds of answers because their clients have not read them
 * (connection.h). What the kernel holds of them is bounded by the socket's options (listen.c). */
#include "shared/base/clock.h"
#include "shared/http/admit.h"
#include "shared/http/connection_internal.h"

#include <sys/socket.h>

enum {
    ADDRESS_SHARE = 2,  /* of the bound, to those of one address */
    PATIENCE_MS = 5000, /* an answer that has waited for so long may be given up for others */
    GIVE_UP_TRIES = 64, /* of the oldest, that are looked at for one of the same address */
};

static struct request *request_of(struct unread *unread)
{
    return H2O_STRUCT_FROM_MEMBER(struct request, unread, unread);
}

static void unlink_unread(struct connections *all, struct unread *unread)
{
    *(unread->older == NULL ? &all->oldest_unread : &unread->older->newer) = unread->newer;
    *(unread->newer == NULL ? &all->newest_unread : &unread->newer->older) = unread->older;
    unread->older = unread->newer = NULL;
}

static void link_unread(struct connections *all, struct unread *unread)
{
    unread->since_ms = clock_mono_ms();
    unread->older = all->newest_unread;
    *(unread->older == NULL ? &all->oldest_unread : &unread->older->newer) = unread;
    all->newest_unread = unread;
}

void connection_hold_answer(struct request *r, size_t bytes)
{
    struct connection *c = r->connection;
    struct unread *unread = &r->unread;
    size_t held = bytes > ADMIT_UNASKED_BYTES && !unread->is_given_up ? bytes : 0;
    if (c == NULL || held == unread->bytes)
        return;
    bool is_read = held < unread->bytes; /* some of it: whoever reads is not given up */
    if (unread->bytes > 0 && (is_read || held == 0))
        unlink_unread(c->all, unread);
    if (held > 0 && (is_read || unread->bytes == 0))
        link_unread(c->all, unread);
    c->all->unread_bytes += held - unread->bytes;
    c->address->unread_bytes += held - unread->bytes;
    unread->bytes = held;
    metrics_set(c->all->server->metrics, METRIC_UNREAD_BYTES, (int64_t)c->all->unread_bytes);
}

/* One answer always fits, as one body does. */
static bool is_address_over(const struct connection *c, size_t more)
{
    size_t cap = c->all->server->config->body_memory_bytes;
    return c->address->unread_bytes > 0 && c->address->unread_bytes + more > cap / ADDRESS_SHARE;
}

static bool fits(const struct connection *c, size_t more)
{
    size_t cap = c->all->server->config->body_memory_bytes;
    return cap == 0 || c->all->unread_bytes == 0 ||
           (c->all->unread_bytes + more <= cap && !is_address_over(c, more));
}

/* Ends the connection of the answer that has waited for longest, which makes room for `more`.
 * libh2o notices the end later and lets go of the request then. */
static bool give_one_up(struct connection *c, size_t more)
{
    struct connections *all = c->all;
    const struct address *of = is_address_over(c, more) ? c->address : NULL;
    uint64_t before_ms = clock_mono_ms() - PATIENCE_MS;
    struct unread *unread = all->oldest_unread;
    for (unsigned i = 0; i < GIVE_UP_TRIES && unread != NULL && unread->since_ms <= before_ms;
         i++) {
        struct request *r = request_of(unread);
        if (r->connection != c && (of == NULL || r->connection->address == of)) {
            connection_hold_answer(r, 0);
            unread->is_given_up = true;
            metrics_add(all->server->metrics, METRIC_UNREAD_CLOSED, 1);
            (void)shutdown(h2o_socket_get_fd(r->connection->socket), SHUT_RDWR);
            return true;
        }
        unread = unread->newer;
    }
    return false;
}

bool connection_has_room(struct request *r, size_t bytes)
{
    if (r->connection == NULL || bytes <= ADMIT_UNASKED_BYTES)
        return true;
    size_t more = bytes > r->unread.bytes ? bytes - r->unread.bytes : 0;
    while (!fits(r->connection, more))
        if (!give_one_up(r->connection, more))
            return false;
    return true;
}
