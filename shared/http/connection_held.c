/* SPDX-License-Identifier: MIT
 * connection_held.c - what is held for bodies, by the node and by address
 * (connection_internal.h). */
#include "shared/http/admit.h"
#include "shared/http/connection_internal.h"

enum { UNPROVEN_SHARE = 8, ADDRESS_SHARE = 2 };

static void show_held(const struct connections *all)
{
    metrics_set(all->server->metrics, METRIC_BODY_BYTES, (int64_t)all->held_bytes);
}

/* One body always fits, or a small setting would refuse the largest forever. */
static bool fits(const struct connection *c, size_t more, bool is_proven)
{
    const struct connections *all = c->all;
    size_t cap = all->server->config->body_memory_bytes;
    if (cap == 0 || more == 0)
        return true;
    if (!is_proven && all->unproven_bytes > 0 && all->unproven_bytes + more > cap / UNPROVEN_SHARE)
        return false;
    if (c->address->held_bytes > 0 && c->address->held_bytes + more > cap / ADDRESS_SHARE)
        return false;
    return all->held_bytes == 0 || all->held_bytes + more <= cap;
}

bool connection_charge(struct connection *c, size_t bytes, bool is_proven)
{
    struct connections *all = c->all;
    if (bytes == c->charged)
        return true;
    if (bytes > c->charged && !fits(c, bytes - c->charged, is_proven))
        return false;
    all->held_bytes += bytes - c->charged;
    c->address->held_bytes += bytes - c->charged;
    if (!c->is_body_proven)
        all->unproven_bytes -= c->charged;
    if (!is_proven)
        all->unproven_bytes += bytes;
    c->charged = bytes;
    c->is_body_proven = is_proven;
    show_held(all);
    return true;
}

void connection_hold(struct request *r, size_t bytes)
{
    struct connection *c = r->connection;
    size_t held = bytes > ADMIT_UNASKED_BYTES ? bytes : 0;
    if (held == r->held_bytes)
        return;
    c->all->held_bytes += held - r->held_bytes;
    c->address->held_bytes += held - r->held_bytes;
    r->held_bytes = held;
    show_held(c->all);
}
