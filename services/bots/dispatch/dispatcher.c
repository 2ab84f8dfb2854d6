/* SPDX-License-Identifier: MIT
 * dispatcher.c - see dispatcher.h: how deliveries begin here, and how many a node takes. */
#include "services/bots/dispatch/dispatcher.h"

#include "services/bots/dispatch/delivery.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"

enum { ROOM_LEAST = 20 };

static struct delivery *create(struct dispatcher *dispatcher, const struct delivery_lease *lease)
{
    struct delivery *d = mem_zeroed(sizeof *d);
    uint64_t now_ms = clock_mono_ms();
    *d = (struct delivery){.dispatcher = dispatcher,
                           .number = sm_number(),
                           .bot = str_copy(lease->bot),
                           .account = str_copy(lease->account),
                           .user = str_copy(lease->user),
                           .attempt = lease->attempt,
                           .since_ms = now_ms > lease->age_ms ? now_ms - lease->age_ms : 0};
    dispatch_count_held(1);
    lease_hold(&dispatcher->leases, &d->lease, lease->id, lease->fence);
    d->room = lease_home(&d->lease);
    return d;
}

void delivery_start(struct dispatcher *dispatcher, const struct delivery_lease *lease)
{
    if (lease->id.n <= 4 + ROOM_ID_BYTES || lease->id.n > DELIVERY_ID_MAX_BYTES)
        return; /* of a newer version */
    struct delivery *d = create(dispatcher, lease);
    switch (lease->task) {
    case TASK_CALL: delivery_wait(d); return;
    case TASK_BUSY: delivery_give_up(d, STR("is busy: too many messages wait for it")); return;
    case TASK_LATE: delivery_give_up(d, STR("has not answered yet")); return;
    default: delivery_give_up(d, STR("has not answered within 15 minutes")); return;
    }
}

void dispatcher_start(struct dispatcher *dispatcher, const struct bots_delivery *delivery)
{
    delivery_start(dispatcher, &(struct delivery_lease){.id = delivery->id,
                                                        .bot = delivery->bot,
                                                        .account = delivery->account,
                                                        .user = delivery->user,
                                                        .fence = delivery->fence});
}

/* A full one takes a few all the same: they may be of somebody whose turn comes first. */
unsigned dispatcher_capacity(const struct dispatcher *dispatcher)
{
    size_t waiting_n = fair_slots_waiting(dispatcher->calls);
    if (dispatcher->bots->server->is_draining)
        return 0;
    return waiting_n + ROOM_LEAST < DISPATCH_HELD_MAX ? (unsigned)(DISPATCH_HELD_MAX - waiting_n)
                                                      : ROOM_LEAST;
}

struct dispatcher *dispatcher_create(struct bots *bots, const struct lease_kind *kind)
{
    struct dispatcher *dispatcher = mem_zeroed(sizeof *dispatcher);
    dispatcher->bots = bots;
    dispatcher->begin = delivery_begin;
    slots_init(dispatcher);
    leases_init(&dispatcher->leases, kind, bots->server->loop, bots->server->shards,
                &bots->server->is_draining);
    return dispatcher;
}

void dispatcher_destroy(struct dispatcher *dispatcher)
{
    if (dispatcher == NULL)
        return;
    dispatcher->is_starting = true; /* nothing begins any more */
    leases_fini(&dispatcher->leases);
    slots_fini(dispatcher);
    free(dispatcher);
}

/* Those that wait are left to other nodes, which take them when their leases end. */
void dispatcher_drain(struct dispatcher *dispatcher)
{
    dispatcher->is_starting = true;
    leases_drain(&dispatcher->leases);
}
