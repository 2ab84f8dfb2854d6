/* SPDX-License-Identifier: MIT
 * poll_credits.c - parked polls, and the credits that shards have been granted for them (polls.h).
 */
#include "shared/queue/polls.h"

#include "generated/verbs.h"
#include "shared/base/sm.h"

static const struct sm_state states[] = {
    [POLL_IDLE] = {"IDLE", SM(POLL_CLAIMING)},
    [POLL_CLAIMING] = {"CLAIMING", SM(POLL_PARKED) | SM(POLL_IDLE)},
    [POLL_PARKED] = {"PARKED", SM(POLL_IDLE)},
};
static const struct sm sm = SM_OF("poll", states);

void polls_set_state(struct poll *poll, enum poll_state to)
{
    poll->state = sm_move(&sm, poll->number, poll->state, to);
}

void polls_park(struct queue *queue, struct poll *poll)
{
    polls_set_state(poll, POLL_PARKED);
    polls_put_last(&poll->class->parked, poll);
    metrics_add(queue->metrics, METRIC_POLLS_PARKED, 1);
}

void polls_unlink_parked(struct queue *queue, struct poll *poll)
{
    polls_set_state(poll, POLL_IDLE);
    polls_take_off(&poll->class->parked, poll);
    metrics_add(queue->metrics, METRIC_POLLS_PARKED, -1);
}

static unsigned shard_with_most(const struct poll_class *class)
{
    unsigned most = 0;
    for (unsigned i = 1; i < class->queue->shards.n; i++)
        if (class->credits[i] > class->credits[most])
            most = i;
    return most;
}

/* Where the class has fewest of the shards that can be reached: of equal ones, the next in turn. */
unsigned credits_least_shard(const struct poll_class *class)
{
    const struct shards *shards = &class->queue->shards;
    if (class->work == WORK_LOOKUPS)
        return 0;
    unsigned n = shards->n, least = class->rotor % n;
    for (unsigned i = 1; i < n; i++) {
        unsigned shard = (class->rotor + i) % n;
        bool is_up = turn_is_up(shards->turns[shard]);
        bool is_better =
            !turn_is_up(shards->turns[least]) || class->credits[shard] < class->credits[least];
        if (is_up && is_better)
            least = shard;
    }
    return least;
}

static void take_credit_back(struct poll_class *class, unsigned shard)
{
    struct turn *turn = class->queue->shards.turns[shard];
    class->credits[shard]--;
    class->credit_n--;
    if (turn_is_up(turn)) /* else its sync states what there is */
        call_unpark(turn_forget(turn), .class = class_name(class));
}

/* After a poll has ended, or got a claim that used up no credit. */
void credits_settle(struct poll_class *class)
{
    while (class->credit_n > class_idle_n(class))
        take_credit_back(class, shard_with_most(class));
}

void credits_note(struct poll_class *class, unsigned shard)
{
    class->credits[shard]++;
    class->credit_n++;
    class->told |= shard_bit(shard);
}

/* False when the credit is not known yet: the reply that grants it is on its way. */
bool credits_use(struct poll_class *class, unsigned shard)
{
    if (class->credits[shard] == 0)
        return false;
    class->credits[shard]--;
    class->credit_n--;
    return true;
}

void credits_grant_missing(struct poll_class *class)
{
    while (class->credit_n < class_idle_n(class))
        credits_note(class, credits_least_shard(class));
}

/* A claim, a credit that was taken back or a sync may have been lost with it, whether it ran or
 * not: the syncs that follow state every class once. */
void polls_on_lost(struct queue *queue, unsigned shard)
{
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class *class = queue->classes[i]; class != NULL; class = class->next)
            if (class_is_at(class, shard))
                class->told |= shard_bit(shard);
}

void polls_on_up(struct queue *queue, unsigned shard)
{
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class *class = queue->classes[i]; class != NULL; class = class->next)
            class->hinted &= ~shard_bit(shard);
}
