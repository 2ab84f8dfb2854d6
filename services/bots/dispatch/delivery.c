/* SPDX-License-Identifier: MIT
 * delivery.c - see delivery.h: what happens to a delivery, and when.
 *
 *     delivery_start --> WAITING --a slot--> FINDING --> BEGINNING --> READING --> CALLING
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
#include "shared/base/mem.h"
#include "shared/base/sm.h"

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
