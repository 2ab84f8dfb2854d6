/* SPDX-License-Identifier: MIT
 * slots.c - chooses the deliveries that call their bot now (delivery.h). Those who wrote the
 * messages take turns, and the bots that one of them calls (fair_slots.h). A bot has a few calls at
 * a time, no matter who calls it, and the last slots are for bots that nobody calls yet: several
 * slow bots do not fill the node. */
#include "services/bots/dispatch/delivery.h"

#include "shared/base/mem.h"

enum { SLOTS_FOR_IDLE_BOTS = DISPATCH_CALLS_MAX / 4 };

/* A bot with deliveries that wait for a slot or have one. */
struct peer {
    struct list_link link; /* of the dispatcher */
    char *bot;
    unsigned delivery_n, calls_n;
};

static struct delivery *delivery_of(struct fair_entry *entry)
{
    return container_of(entry, struct delivery, entry);
}

static struct peer *find(const struct dispatcher *dispatcher, struct str bot)
{
    list_for_each (struct peer, peer, &dispatcher->peers, link)
        if (str_eq(str_of(peer->bot), bot))
            return peer;
    return NULL;
}

static struct peer *add(struct dispatcher *dispatcher, struct str bot)
{
    struct peer *peer = mem_zeroed(sizeof *peer);
    peer->bot = str_copy(bot);
    list_prepend(&dispatcher->peers, &peer->link);
    return peer;
}

static void drop_unused(struct dispatcher *dispatcher, struct peer *peer)
{
    if (peer->delivery_n > 0)
        return;
    list_remove(&peer->link);
    free(peer->bot);
    free(peer);
}

static struct fair_slots *pool_of(const struct delivery *delivery)
{
    const struct dispatcher *dispatcher = delivery->dispatcher;
    return delivery->is_model ? dispatcher->questions : dispatcher->calls;
}

void slots_wait(struct delivery *delivery)
{
    struct dispatcher *dispatcher = delivery->dispatcher;
    const struct fair_owner owner = {str_of(delivery->account), str_of(delivery->user),
                                     str_of(delivery->bot)};
    struct peer *peer = find(dispatcher, owner.part);
    delivery->peer = peer != NULL ? peer : add(dispatcher, owner.part);
    delivery->peer->delivery_n++;
    fair_slots_wait(pool_of(delivery), &delivery->entry, &owner, 1);
}

void slots_leave(struct delivery *delivery)
{
    struct peer *peer = delivery->peer;
    if (peer == NULL)
        return;
    if (delivery->entry.has_slot && !delivery->is_model) {
        peer->calls_n--;
        dispatch_count_calls(-1);
    }
    fair_slots_leave(pool_of(delivery), &delivery->entry);
    delivery->peer = NULL;
    peer->delivery_n--;
    drop_unused(delivery->dispatcher, peer);
}

/* Counts the calls of its bot: the last slots are for bots without one. */
static bool may_begin(const struct fair_entry *entry)
{
    const struct delivery *delivery = delivery_of((struct fair_entry *)(uintptr_t)entry);
    unsigned calls_n = delivery->peer->calls_n;
    uint64_t most = calls_n == 0 ? DISPATCH_CALLS_MAX : DISPATCH_CALLS_MAX - SLOTS_FOR_IDLE_BOTS;
    return calls_n < DISPATCH_CALLS_OF_BOT && fair_slots_held(delivery->dispatcher->calls) < most;
}

static void begin_next(struct dispatcher *dispatcher)
{
    struct fair_entry *entry;
    while ((entry = fair_slots_next(dispatcher->calls)) != NULL) {
        delivery_of(entry)->peer->calls_n++;
        dispatch_count_calls(1);
        dispatcher->begin(delivery_of(entry));
    }
    while ((entry = fair_slots_next(dispatcher->questions)) != NULL)
        dispatcher->begin(delivery_of(entry));
}

static void drop_surplus(struct fair_slots *pool)
{
    struct fair_entry *surplus;
    while ((surplus = fair_slots_surplus(pool)) != NULL)
        lease_give_back(&delivery_of(surplus)->lease, 0);
}

void slots_fill(struct dispatcher *dispatcher)
{
    if (dispatcher->is_starting)
        return;
    dispatcher->is_starting = true;
    begin_next(dispatcher);
    drop_surplus(dispatcher->calls);
    drop_surplus(dispatcher->questions);
    dispatcher->is_starting = false;
}

void slots_init(struct dispatcher *dispatcher)
{
    dispatcher->calls = fair_slots_create(&(struct fair_slots_config){
        .slot_n = DISPATCH_CALLS_MAX, .waiting_max = DISPATCH_HELD_MAX, .may_begin = may_begin});
    dispatcher->questions = fair_slots_create(
        &(struct fair_slots_config){.slot_n = DISPATCH_HELD_MAX, .waiting_max = DISPATCH_HELD_MAX});
}

void slots_fini(struct dispatcher *dispatcher)
{
    fair_slots_destroy(dispatcher->calls);
    fair_slots_destroy(dispatcher->questions);
}
