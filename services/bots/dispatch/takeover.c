/* SPDX-License-Identifier: MIT
 * takeover.c - how deliveries come to a node and stay with it (delivery.h). The node renews their
 * leases together. Every few seconds, and when Redis is back, it takes those whose time has come:
 * that nobody has, that a dead node had, and whose answer is late. */
#include "services/bots/dispatch/delivery.h"

#include "generated/verbs.h"
#include "shared/queue/lines.h"

#include <stdlib.h>

enum {
    TICK_MS = 5000, /* two of them fit into a lease of 15 s */
    /* Whether there is something to take is asked with a turn that is sent anyway, at most this
     * often, or at a look of its own if that was long ago. */
    LOOK_MS = 900,
    LOOK_AGAIN_MS = 1200,
    LOOK_TICK_MS = 2000,
    TAKE_MAX = 100,
    RENEW_MAX = 200,
    /* Those that wait for a call, wait for a question, ask one, and rest. */
    RENEWALS_MAX = 4 * DISPATCH_HELD_MAX / RENEW_MAX + 1,
};

/* What is under way with one shard. */
struct taking {
    struct call look_call, call;
    uint64_t looked_ms;
    struct dispatcher *dispatcher;
    struct renewal {
        struct call call;
        struct dispatcher *dispatcher;
    } renewals[RENEWALS_MAX];
};

static struct turn *turn_of(const struct dispatcher *dispatcher, unsigned shard)
{
    return dispatcher->bots->server->shards->turns[shard];
}

/* --- keeping ---------------------------------------------------------------------------------- */

static void on_renewed(struct call *call, enum err error, struct str reply)
{
    struct dispatcher *dispatcher = H2O_STRUCT_FROM_MEMBER(struct renewal, call, call)->dispatcher;
    struct lines lines = lines_of(reply);
    while (error == ERR_OK && lines_are_left(&lines)) {
        struct delivery *d = dispatcher_find(dispatcher, lines_next(&lines));
        /* While its end is stored, the reply to that says what became of it. */
        if (d != NULL && d->state != DELIVERY_ENDING && d->state != DELIVERY_REPLYING)
            delivery_drop(d);
    }
}

static struct delivery *next_of(struct delivery *d, const struct turn *turn)
{
    while (d != NULL && shards_turn(d->dispatcher->bots->server->shards, d->room) != turn)
        d = d->next;
    return d;
}

/* All that it holds there, in as many calls as that takes. */
static void renew(struct taking *taking, struct turn *turn)
{
    struct delivery *d = next_of(taking->dispatcher->first, turn);
    for (unsigned i = 0; i < RENEWALS_MAX && d != NULL; i++) {
        if (call_is_under_way(&taking->renewals[i].call))
            return;
        struct verb_writer verb =
            begin_delivery_renew(turn_call(turn, &taking->renewals[i].call, on_renewed));
        for (unsigned n = 0; n < RENEW_MAX && d != NULL; n++) {
            put_delivery_renew_held(&verb, .delivery = str_of(d->id), .fence = d->fence);
            d = next_of(d->next, turn);
        }
        end_verb(&verb);
    }
}

/* --- taking ----------------------------------------------------------------------------------- */

static enum delivery_task task_of(struct str word)
{
    static const struct str words[TASK_NR] = {[TASK_CALL] = {"call", 4},
                                              [TASK_BUSY] = {"busy", 4},
                                              [TASK_LATE] = {"late", 4},
                                              [TASK_OVER] = {"over", 4}};
    unsigned i = 0;
    while (i < TASK_OVER && !str_eq(words[i], word))
        i++;
    return (enum delivery_task)i;
}

static void on_taken(struct call *call, enum err error, struct str reply)
{
    struct taking *taking = H2O_STRUCT_FROM_MEMBER(struct taking, call, call);
    struct lines lines = lines_of(reply);
    while (error == ERR_OK && lines_are_left(&lines)) {
        struct delivery_lease lease = {.id = lines_next(&lines)};
        lease.fence = lines_next_u64(&lines);
        lease.bot = lines_next(&lines);
        lease.task = task_of(lines_next(&lines));
        lease.attempt = (unsigned)lines_next_u64(&lines);
        lease.age_ms = lines_next_u64(&lines);
        lease.account = lines_next(&lines);
        lease.user = lines_next(&lines);
        delivery_start(taking->dispatcher, &lease);
    }
}

static void take(struct dispatcher *dispatcher, unsigned shard)
{
    struct taking *taking = &dispatcher->takings[shard];
    unsigned room = dispatcher_room(dispatcher);
    struct turn *turn = turn_of(dispatcher, shard);
    if (room == 0 || call_is_under_way(&taking->call) || !turn_is_up(turn))
        return;
    call_delivery_take(turn_call(turn, &taking->call, on_taken),
                       .limit = room < TAKE_MAX ? room : TAKE_MAX);
}

static void on_looked(struct call *call, enum err error, struct str reply)
{
    struct taking *taking = H2O_STRUCT_FROM_MEMBER(struct taking, look_call, call);
    if (error == ERR_OK && (str_eq(reply, STR("deliveries")) || str_eq(reply, STR("both"))))
        take(taking->dispatcher, (unsigned)(taking - taking->dispatcher->takings));
}

static void look(struct dispatcher *dispatcher, unsigned shard)
{
    struct taking *taking = &dispatcher->takings[shard];
    struct turn *turn = turn_of(dispatcher, shard);
    if (dispatcher_room(dispatcher) == 0 || call_is_under_way(&taking->look_call) ||
        !turn_is_up(turn))
        return;
    taking->looked_ms = clock_mono_ms();
    call_bots_look(turn_call(turn, &taking->look_call, on_looked));
}

void dispatcher_before_flush(struct dispatcher *dispatcher)
{
    const struct shards *shards = dispatcher->bots->server->shards;
    for (unsigned i = 0; i < shards->n; i++)
        if (clock_mono_ms() >= dispatcher->takings[i].looked_ms + LOOK_MS &&
            turn_is_collecting(shards->turns[i]))
            look(dispatcher, i);
}

static void on_look_tick(struct deadline *deadline)
{
    struct dispatcher *dispatcher = H2O_STRUCT_FROM_MEMBER(struct dispatcher, look_tick, deadline);
    for (unsigned i = 0; i < dispatcher->bots->settings->map->n; i++)
        if (clock_mono_ms() >= dispatcher->takings[i].looked_ms + LOOK_AGAIN_MS)
            look(dispatcher, i);
    loop_set_deadline(dispatcher->bots->server->loop, &dispatcher->look_tick, LOOK_TICK_MS);
}

static void on_tick(struct deadline *deadline)
{
    struct dispatcher *dispatcher = H2O_STRUCT_FROM_MEMBER(struct dispatcher, tick, deadline);
    for (unsigned i = 0; i < dispatcher->bots->settings->map->n; i++)
        renew(&dispatcher->takings[i], turn_of(dispatcher, i));
    loop_set_deadline(dispatcher->bots->server->loop, &dispatcher->tick, TICK_MS);
}

void dispatcher_on_up(struct dispatcher *dispatcher, unsigned shard)
{
    take(dispatcher, shard);
}

void takeover_init_deliveries(struct dispatcher *dispatcher)
{
    unsigned n = dispatcher->bots->settings->map->n;
    dispatcher->takings = calloc(n, sizeof *dispatcher->takings);
    if (dispatcher->takings == NULL)
        abort();
    for (unsigned i = 0; i < n; i++) {
        dispatcher->takings[i].dispatcher = dispatcher;
        for (unsigned k = 0; k < RENEWALS_MAX; k++)
            dispatcher->takings[i].renewals[k].dispatcher = dispatcher;
    }
    dispatcher->tick.on_expire = on_tick;
    dispatcher->look_tick.on_expire = on_look_tick;
    loop_set_deadline(dispatcher->bots->server->loop, &dispatcher->tick, TICK_MS);
    loop_set_deadline(dispatcher->bots->server->loop, &dispatcher->look_tick, LOOK_TICK_MS);
}

void takeover_fini_deliveries(struct dispatcher *dispatcher)
{
    loop_cancel_deadline(dispatcher->bots->server->loop, &dispatcher->tick);
    loop_cancel_deadline(dispatcher->bots->server->loop, &dispatcher->look_tick);
    for (unsigned i = 0; i < dispatcher->bots->settings->map->n; i++) {
        call_detach(&dispatcher->takings[i].look_call);
        call_detach(&dispatcher->takings[i].call);
        for (unsigned k = 0; k < RENEWALS_MAX; k++)
            call_detach(&dispatcher->takings[i].renewals[k].call);
    }
    free(dispatcher->takings);
}
