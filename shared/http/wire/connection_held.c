/* SPDX-License-Identifier: MIT
 * connection_held.c - counts the bytes that are held for bodies, by the node and by address
 * (connection_internal.h). */
#include "shared/base/clock.h"
#include "shared/http/wire/connection_internal.h"

#include <malloc.h>

enum { ANONYMOUS_SHARE = 8, ADDRESS_SHARE = 2 };

/* When free pages go back to the system: soon after many were left, and once more later. A trim
 * takes longer in a larger heap, so it rests TRIM_RESTS times as long as it took. */
enum { TRIM_FROM_BYTES = 1 << 20, TRIM_SOON_MS = 100, TRIM_LATER_MS = 1000, TRIM_RESTS = 100 };

static void show_held(const struct connections *all)
{
    metrics_set(all->wire->metrics, METRIC_BODY_BYTES, (int64_t)all->held_bytes);
}

/* One body always fits, or a small setting would refuse the largest forever. */
static bool fits(const struct connection *c, size_t more, bool is_authenticated)
{
    const struct connections *all = c->all;
    size_t cap = all->wire->config->body_memory_bytes;
    if (cap == 0 || more == 0)
        return true;
    if (!is_authenticated && all->anonymous_bytes > 0 &&
        all->anonymous_bytes + more > cap / ANONYMOUS_SHARE)
        return false;
    if (c->address->held_bytes > 0 && c->address->held_bytes + more > cap / ADDRESS_SHARE)
        return false;
    return all->held_bytes == 0 || all->held_bytes + more <= cap;
}

bool connection_charge(struct connection *c, size_t bytes, bool is_authenticated)
{
    struct connections *all = c->all;
    if (bytes == c->charged)
        return true;
    if (bytes > c->charged && !fits(c, bytes - c->charged, is_authenticated))
        return false;
    all->held_bytes += bytes - c->charged;
    c->address->held_bytes += bytes - c->charged;
    if (!c->is_body_authenticated)
        all->anonymous_bytes -= c->charged;
    if (!is_authenticated)
        all->anonymous_bytes += bytes;
    c->charged = bytes;
    c->is_body_authenticated = is_authenticated;
    show_held(all);
    return true;
}

void connection_hold(struct exchange *x, size_t bytes)
{
    struct connection *c = x->connection;
    size_t held = bytes > ADMIT_UNASKED_BYTES ? bytes : 0;
    size_t anonymous = x->is_authenticated ? 0 : held;
    if (held == x->held_bytes && anonymous == x->anonymous_bytes)
        return;
    c->all->held_bytes += held - x->held_bytes;
    c->all->anonymous_bytes += anonymous - x->anonymous_bytes;
    c->address->held_bytes += held - x->held_bytes;
    x->held_bytes = held;
    x->anonymous_bytes = anonymous;
    show_held(c->all);
}

void connection_make_room(h2o_buffer_t **buffer, size_t bytes)
{
    h2o_buffer_t *now = *buffer, *twin;
    if (now->bytes != NULL && now->capacity >= bytes)
        return;
    h2o_buffer_init(&twin, &h2o_socket_buffer_prototype);
    h2o_buffer_reserve(&twin, bytes);
    if (now->bytes != NULL)
        memcpy(twin->bytes, now->bytes, now->size);
    twin->size = now->size;
    h2o_buffer_dispose(buffer);
    *buffer = twin;
}

/* Returns free pages to the system. Memory that a crowd of anonymous clients held is free, but
 * scattered: the next crowd would not find room in it, and the node would grow with each. A stream
 * is freed once its answer is written, which may be after this trim: so there is one more, and one
 * more again while answers wait for their clients.
 */
static void on_trim(struct deadline *deadline)
{
    struct connections *all = container_of(deadline, struct connections, trim);
    bool is_last = all->left_bytes == 0 && all->unread_n == 0;
    uint64_t begin_us = clock_mono_us();
    all->left_bytes = 0;
    malloc_trim(0);
    uint64_t rest_ms = (clock_mono_us() - begin_us) * TRIM_RESTS / 1000;
    all->trim_soon_ms = rest_ms > TRIM_SOON_MS ? rest_ms : TRIM_SOON_MS;
    if (!is_last)
        loop_set_deadline(all->wire->loop, &all->trim, TRIM_LATER_MS + all->trim_soon_ms);
}

void connections_free_later(struct connections *all, size_t bytes)
{
    bool is_set = all->left_bytes >= TRIM_FROM_BYTES;
    all->left_bytes += bytes;
    if (!is_set && all->left_bytes >= TRIM_FROM_BYTES)
        loop_set_deadline(all->wire->loop, &all->trim, all->trim_soon_ms);
}

void connections_init_held(struct connections *all)
{
    all->trim.on_expire = on_trim;
    all->trim_soon_ms = TRIM_SOON_MS;
}
