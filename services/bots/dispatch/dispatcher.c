/* SPDX-License-Identifier: MIT
 * dispatcher.c - see dispatcher.h: what happens to a delivery, and when.
 *
 *   dispatcher_start --> WAITING --a slot--> FINDING --> BEGINNING --> READING --> CALLING
 *                         ^  ^                | |                                   | |
 *                         |  '-- other slots -' | its circuit      failed, or the   | | an answer
 *                         |                     v is half open     queue is full    | v
 *                         '----- its time --- RESTING <-----------------------------' REPLYING
 *                                                ^                                     | |
 *                                                '---- the answer was not stored ------' | stored
 *                                                                                        v
 *   (any before REPLYING) --failed, silent, accepted--> ENDING --stored--> ENDED       ENDED
 *   (any) --a verb fails, the lease is lost, the node drains--> ENDED
 *
 * The room and the bot are read for each attempt, so that a delivery holds little while it waits,
 * and a key that was rotated or an endpoint that was replaced counts from the next attempt on. One
 * whose bot is a model waits again, for its turn among the questions: it stays in the queue for
 * long and takes no slot from calls. A verb that fails ends it here without a word: its lease ends,
 * and a node takes it. */
#include "services/bots/dispatch/delivery.h"

#include "services/bots/rooms/post.h"
#include "shared/base/sm.h"

#include "shared/base/mem.h"

enum { ROOM_LEAST = 20 };

static const struct sm_state states[] = {
    [DELIVERY_WAITING] = {"WAITING",
                          SM(DELIVERY_FINDING) | SM(DELIVERY_ENDING) | SM(DELIVERY_ENDED)},
    [DELIVERY_FINDING] = {"FINDING", SM(DELIVERY_WAITING) | SM(DELIVERY_BEGINNING) |
                                         SM(DELIVERY_RESTING) | SM(DELIVERY_ENDING) |
                                         SM(DELIVERY_ENDED)},
    [DELIVERY_BEGINNING] = {"BEGINNING",
                            SM(DELIVERY_READING) | SM(DELIVERY_ENDING) | SM(DELIVERY_ENDED)},
    [DELIVERY_READING] = {"READING",
                          SM(DELIVERY_CALLING) | SM(DELIVERY_ENDING) | SM(DELIVERY_ENDED)},
    [DELIVERY_CALLING] = {"CALLING", SM(DELIVERY_RESTING) | SM(DELIVERY_REPLYING) |
                                         SM(DELIVERY_ENDING) | SM(DELIVERY_ENDED)},
    [DELIVERY_RESTING] = {"RESTING",
                          SM(DELIVERY_WAITING) | SM(DELIVERY_ENDING) | SM(DELIVERY_ENDED)},
    [DELIVERY_REPLYING] = {"REPLYING",
                           SM(DELIVERY_RESTING) | SM(DELIVERY_ENDING) | SM(DELIVERY_ENDED)},
    [DELIVERY_ENDING] = {"ENDING", SM(DELIVERY_ENDED)},
    [DELIVERY_ENDED] = {"ENDED", 0},
};
static const struct sm sm = SM_OF("delivery", states);

void delivery_move(struct delivery *d, enum delivery_state to)
{
    d->dispatcher->resting_n -= d->state == DELIVERY_RESTING;
    d->state = sm_move(&sm, d->number, d->state, to);
    d->dispatcher->resting_n += to == DELIVERY_RESTING;
}

/* --- deliveries of this node ------------------------------------------------------------------ */

void delivery_finish(struct delivery *d, enum delivery_outcome outcome, bool is_final)
{
    struct dispatcher *dispatcher = d->dispatcher;
    delivery_move(d, DELIVERY_ENDED);
    dispatch_count_outcome(outcome);
    dispatch_count_held(-1);
    loop_cancel_deadline(delivery_loop(d), &d->deadline);
    call_detach(&d->call);
    bot_call_cancel(d->running, is_final);
    post_leave(d->posting);
    bot_vacancy_leave(&d->vacancy);
    slots_leave(d);
    lease_let_go(&d->lease);
    free(d->bot);
    free(d->account);
    free(d->user);
    free(d->found);
    free(d);
    slots_fill(dispatcher);
}

void delivery_drop(struct delivery *d)
{
    delivery_finish(d, OUTCOME_LOST, false);
}

/* --- starting and ending ---------------------------------------------------------------------- */

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
unsigned dispatcher_room(const struct dispatcher *dispatcher)
{
    size_t waiting_n = fair_slots_waiting(dispatcher->calls);
    if (dispatcher->bots->server->is_draining)
        return 0;
    return waiting_n + ROOM_LEAST < DISPATCH_HELD_MAX ? (unsigned)(DISPATCH_HELD_MAX - waiting_n)
                                                      : ROOM_LEAST;
}

struct dispatcher *dispatcher_create(struct bots *bots)
{
    struct dispatcher *dispatcher = mem_zeroed(sizeof *dispatcher);
    dispatcher->bots = bots;
    slots_init(dispatcher);
    leases_init(&dispatcher->leases, &delivery_leases, bots->server->loop, bots->server->shards,
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
