/* SPDX-License-Identifier: MIT
 * poll_credits.c - see poll_credits.h. */
#include "shared/queue/poll_credits.h"

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
    if (poll->on_parked != NULL)
        poll->on_parked(poll);
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

int credits_to_come(const struct poll_class *class, unsigned shard)
{
    return (int)class->credits[shard] + (int)class->claims[shard] -
           (int)turn_queries_n(class->queue->shards.turns[shard]);
}

/* Chooses among equal ones the next in turn. */
unsigned credits_least_shard(const struct poll_class *class, uint64_t but)
{
    const struct queue *queue = class->queue;
    unsigned n = queue->shards.n, least = SHARDS_MAX;
    int least_n = 0;
    if (n == 1 || class->work == WORK_LOOKUPS)
        return 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned shard = (class->rotor + i) % n;
        if ((but & shard_bit(shard)) != 0 || !part_is_usable(&queue->parts[shard]))
            continue;
        int credit_n = credits_to_come(class, shard);
        if (least == SHARDS_MAX || credit_n < least_n) {
            least = shard;
            least_n = credit_n;
        }
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
void credits_withdraw_surplus(struct poll_class *class)
{
    while (class->credit_n > class_idle_n(class))
        take_credit_back(class, shard_with_most(class));
}

void credits_note(struct poll_class *class, unsigned shard)
{
    class->credits[shard]++;
    class->credit_n++;
    class->reported |= shard_bit(shard);
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

unsigned credits_at(const struct poll_class *class, unsigned shard)
{
    return class->credits[shard];
}

bool credits_are_stated(const struct poll_class *class, unsigned shard)
{
    return class_is_at(class, shard) &&
           (class->parked.n > 0 || ((class->reported | class->polled) & shard_bit(shard)) != 0);
}

void credits_note_stated(struct poll_class *class, unsigned shard)
{
    if (class->credits[shard] + class->claiming.n + class->left_n > 0)
        class->reported |= shard_bit(shard);
    else
        class->reported &= ~shard_bit(shard);
}

/* On shards except those in `but`; the syncs that state them come within `after_ms`. */
static void grant_missing(struct poll_class *class, uint64_t but, uint64_t after_ms)
{
    while (class->credit_n < class_idle_n(class)) {
        unsigned shard = credits_least_shard(class, but);
        if (shard == SHARDS_MAX)
            return; /* the sync of the first one that can be used again grants them */
        credits_note(class, shard);
        part_sync_by(&class->queue->parts[shard], after_ms);
    }
}

void credits_grant_missing(struct poll_class *class)
{
    grant_missing(class, 0, class->queue->config.rescan_ms);
}

/* A claim, a credit that was taken back or a sync may have been lost with it, whether it ran or
 * not: the syncs that follow state every class once. Of several shards the others grant the credits
 * that this one had, at once. Only these sync, or each of many nodes would sync each shard. */
void credits_on_lost(struct queue *queue, unsigned shard)
{
    for (struct poll_class *class = NULL; (class = classes_next(queue, class)) != NULL;) {
        if (!class_is_at(class, shard))
            continue;
        class->reported |= shard_bit(shard);
        class->polled &= ~shard_bit(shard);
        if (queue->shards.n == 1 || class->work == WORK_LOOKUPS || class->credits[shard] == 0)
            continue;
        class->credit_n -= class->credits[shard];
        class->credits[shard] = 0;
        grant_missing(class, shard_bit(shard), 0);
    }
}

void credits_on_up(struct queue *queue, unsigned shard)
{
    for (struct poll_class *class = NULL; (class = classes_next(queue, class)) != NULL;)
        class_forget_hint(class, shard);
}

/* States hints again: of few nodes at once; of many each syncs its shards one after the other, or
 * together they would make nodes × shards calls at once. */
static void sync_all_shards(struct queue *queue)
{
    unsigned n = queue->shards.n, first = queue_hash(str_of(queue->config.node_id), 0) % n;
    for (unsigned i = 0; i < n; i++) {
        unsigned shard = (first + i) % n;
        part_sync_by(&queue->parts[shard], queue->shards.pace_ms[shard] / 2 * i / n);
    }
}

void credits_on_drained(struct queue *queue, struct str names)
{
    bool is_freed = classes_set_drained(queue, names);
    for (struct poll_class *class = NULL; (class = classes_next(queue, class)) != NULL;) {
        credits_withdraw_surplus(class);
        grant_missing(class, 0, 0);
    }
    if (is_freed)
        sync_all_shards(queue);
}
