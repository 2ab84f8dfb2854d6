/* SPDX-License-Identifier: MIT
 * slots.c - which deliveries call their bot now (delivery.h). Each bot has a queue of its own, and
 * the bots take turns, so that one with hundreds of deliveries does not hold up the others. A few
 * slots are for bots of which nothing is under way: several slow bots do not fill the node. */
#include "services/bots/dispatch/delivery.h"

#include <stdlib.h>

enum { SLOTS_FOR_IDLE_BOTS = DISPATCH_CALLS_MAX / 4 };

/* A bot with deliveries that wait or have a slot. */
struct peer {
    struct peer *previous, *next; /* a ring */
    char *bot;
    struct delivery *first, *last; /* that wait */
    unsigned calls_n;
};

static struct peer *find(struct dispatcher *dispatcher, struct str bot)
{
    struct peer *peer = dispatcher->peers;
    if (peer == NULL)
        return NULL;
    do {
        if (str_eq(str_of(peer->bot), bot))
            return peer;
        peer = peer->next;
    } while (peer != dispatcher->peers);
    return NULL;
}

/* The last one in turn. */
static struct peer *add(struct dispatcher *dispatcher, struct str bot)
{
    struct peer *peer = calloc(1, sizeof *peer), *first = dispatcher->peers;
    if (peer == NULL)
        abort();
    *peer = (struct peer){.bot = str_copy(bot), .previous = peer, .next = peer};
    if (first == NULL) {
        dispatcher->peers = peer;
        return peer;
    }
    peer->next = first;
    peer->previous = first->previous;
    peer->previous->next = first->previous = peer;
    return peer;
}

static void drop_unused(struct dispatcher *dispatcher, struct peer *peer)
{
    if (peer->first != NULL || peer->calls_n > 0)
        return;
    if (dispatcher->peers == peer)
        dispatcher->peers = peer->next == peer ? NULL : peer->next;
    peer->previous->next = peer->next;
    peer->next->previous = peer->previous;
    free(peer->bot);
    free(peer);
}

void slots_wait(struct delivery *delivery)
{
    struct dispatcher *dispatcher = delivery->dispatcher;
    struct peer *peer = find(dispatcher, str_of(delivery->bot));
    if (peer == NULL)
        peer = add(dispatcher, str_of(delivery->bot));
    delivery->peer = peer;
    delivery->queue_next = NULL;
    *(peer->first == NULL ? &peer->first : &peer->last->queue_next) = delivery;
    peer->last = delivery;
}

static void leave_queue(struct peer *peer, struct delivery *delivery)
{
    struct delivery **at = &peer->first, *before = NULL;
    while (*at != NULL && *at != delivery) {
        before = *at;
        at = &before->queue_next;
    }
    if (*at == NULL)
        return;
    *at = delivery->queue_next;
    if (peer->last == delivery)
        peer->last = before;
    delivery->queue_next = NULL;
}

void slots_leave(struct delivery *delivery)
{
    struct dispatcher *dispatcher = delivery->dispatcher;
    struct peer *peer = delivery->peer;
    if (peer == NULL)
        return;
    if (delivery->has_slot) {
        delivery->has_slot = false;
        peer->calls_n--;
        dispatcher->calls_n--;
        dispatch_count_calls(-1);
    } else {
        leave_queue(peer, delivery);
    }
    delivery->peer = NULL;
    drop_unused(dispatcher, peer);
}

static bool may_begin(const struct dispatcher *dispatcher, const struct peer *peer)
{
    unsigned most =
        peer->calls_n == 0 ? DISPATCH_CALLS_MAX : DISPATCH_CALLS_MAX - SLOTS_FOR_IDLE_BOTS;
    return peer->first != NULL && peer->calls_n < DISPATCH_CALLS_OF_BOT &&
           dispatcher->calls_n < most;
}

/* The next bot in turn that may have a slot, or NULL. */
static struct peer *next_peer(const struct dispatcher *dispatcher)
{
    struct peer *peer = dispatcher->peers;
    if (peer == NULL)
        return NULL;
    do {
        if (may_begin(dispatcher, peer))
            return peer;
        peer = peer->next;
    } while (peer != dispatcher->peers);
    return NULL;
}

void slots_fill(struct dispatcher *dispatcher)
{
    struct peer *peer;
    if (dispatcher->is_starting)
        return;
    dispatcher->is_starting = true;
    while ((peer = next_peer(dispatcher)) != NULL) {
        struct delivery *delivery = peer->first;
        dispatcher->peers = peer->next;
        leave_queue(peer, delivery);
        delivery->has_slot = true;
        peer->calls_n++;
        dispatcher->calls_n++;
        dispatch_count_calls(1);
        delivery_begin(delivery);
    }
    dispatcher->is_starting = false;
}
