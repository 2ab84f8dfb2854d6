/* SPDX-License-Identifier: MIT
 * dispatch_component.c - dispatch in the life of a node (services/bots/bots.h). */
#include "services/bots/dispatch/delivery.h"
#include "services/bots/dispatch/dispatcher.h"

static void create(struct bots *bots)
{
    bots->dispatcher = dispatcher_create(bots, &delivery_leases);
}

static void end(struct bots *bots)
{
    dispatcher_destroy(bots->dispatcher);
    bots->dispatcher = NULL;
}

static void on_up(struct bots *bots, unsigned shard)
{
    leases_on_up(&bots->dispatcher->leases, shard);
}

static void before_flush(struct bots *bots)
{
    leases_before_flush(&bots->dispatcher->leases);
}

static void drain(struct bots *bots)
{
    dispatcher_drain(bots->dispatcher);
}

static unsigned count_capacity(struct bots *bots)
{
    return dispatcher_capacity(bots->dispatcher);
}

static void on_delivery(struct bots *bots, const struct bots_delivery *delivery)
{
    dispatcher_start(bots->dispatcher, delivery);
}

extern const struct bots_component dispatch_component;
const struct bots_component dispatch_component = {.create = create,
                                                  .end = end,
                                                  .on_up = on_up,
                                                  .before_flush = before_flush,
                                                  .drain = drain,
                                                  .put_metrics = dispatcher_put_metrics,
                                                  .count_capacity = count_capacity,
                                                  .on_delivery = on_delivery};
