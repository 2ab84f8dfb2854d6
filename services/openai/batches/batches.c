/* SPDX-License-Identifier: MIT
 * batches.c - see batches.h: takes batches to this node and keeps them, with the verbs for their
 * leases. */
#include "services/openai/batches/batches.h"

#include "generated/verbs.h"
#include "services/openai/batches/feeder.h"
#include "shared/base/mem.h"

#include <stdlib.h>

enum { HELD_MAX = 16 };

static struct feeder *feeder_of(struct lease *lease)
{
    return container_of(lease, struct feeder, lease);
}

static struct batches *batches_of(struct leases *leases)
{
    return container_of(leases, struct batches, leases);
}

static void check(struct leases *leases, struct call_start start, bool wants_age)
{
    (void)leases;
    call_batch_due(start, .wants_age = wants_age);
}

static void take(struct leases *leases, struct call_start start, unsigned limit)
{
    (void)leases;
    call_batch_take(start, .limit = limit);
}

static void put_renewal(struct verb_writer *verb, const struct lease *lease)
{
    put_batch_renew_held(verb, .batch_id = str_of(lease->id), .fence = lease->fence);
}

static void release(struct lease *lease, struct call_start start, uint64_t after_ms)
{
    const struct feeder *feeder = feeder_of(lease);
    call_batch_release(start, .owner = str_of(feeder->owner), .batch = str_of(feeder->batch),
                       .fence = lease->fence, .after_ms = after_ms);
}

static unsigned count_capacity(struct leases *leases)
{
    unsigned n = 0;
    list_for_each (struct lease, lease, &leases->rows, link)
        n++;
    return n < HELD_MAX ? HELD_MAX - n : 0;
}

bool batches_are_full(struct batches *batches)
{
    return count_capacity(&batches->leases) == 0;
}

static void start(struct leases *leases, struct str id, uint64_t fence, struct lines *rest)
{
    struct str account = lines_next(rest), user = lines_next(rest);
    feeder_start(batches_of(leases), id, fence, account, user);
}

static void drop(struct lease *lease)
{
    feeder_drop(feeder_of(lease));
}

/* The next node sends the same requests, which take over the queries of its lines. */
static enum lease_use use_of(struct lease *lease)
{
    const struct feeder *feeder = feeder_of(lease);
    return call_is_under_way(&feeder->put_call) || feeder->state == FEEDER_ENDING ? LEASE_STORING
                                                                                  : LEASE_IDLE;
}

static const struct lease_kind kind = {
    .tick_ms = 2000,
    .renew_ms = 2000, /* three of them fit into a lease */
    .check_ms = 900,
    .check_again_ms = 1200,
    .home_bytes = FILE_OWNER_CHARS,
    .rows_max = HELD_MAX,
    .renew_max = 100,
    .take_max = HELD_MAX,
    .check = check,
    .due = {"1"},
    .take = take,
    .begin_renewal = verb_begin_batch_renew,
    .put_renewal = put_renewal,
    .release = release,
    .count_capacity = count_capacity,
    .start = start,
    .drop = drop,
    .use_of = use_of,
};

struct batches *batches_create(struct openai *openai)
{
    struct batches *batches = mem_zeroed(sizeof *batches);
    batches->openai = openai;
    leases_init(&batches->leases, &kind, openai->server->loop, openai->server->shards,
                &openai->server->is_draining);
    return batches;
}

void batches_destroy(struct batches *batches)
{
    if (batches == NULL)
        return;
    leases_fini(&batches->leases);
    free(batches);
}

void batches_on_event(struct batches *batches, struct lines *rest)
{
    struct str id = lines_next(rest);
    list_for_each (struct lease, lease, &batches->leases.rows, link)
        if (str_eq(str_of(lease->id), id))
            feeder_cancel(feeder_of(lease));
}

void batches_on_up(struct batches *batches, unsigned shard)
{
    const struct turn *turn = batches->leases.shards->turns[shard];
    list_for_each (struct lease, lease, &batches->leases.rows, link)
        if (lease->turn == turn)
            feeder_ask(feeder_of(lease));
    leases_on_up(&batches->leases, shard);
}
