/* SPDX-License-Identifier: MIT
 * watch.c - who waits for which outcome (queue.h): lists of watches, one for each hash of topic and
 * Seq. A callback may watch, and unwatch its own or any other watch; see visit. */
#include "shared/queue/watch.h"

#include "shared/base/log.h"

struct watches {
    struct watch *buckets[WATCH_BUCKET_N];
    unsigned adding_n; /* whose Seq is not known yet */
};

struct watches *watches_create(void)
{
    return mem_zeroed(sizeof(struct watches));
}

void watches_destroy(struct watches *watches)
{
    free(watches);
}

const struct watch *watches_at(const struct queue *queue, unsigned bucket)
{
    return queue->watches->buckets[bucket];
}

static struct watch **bucket_of(struct queue *queue, struct str topic, uint64_t seq)
{
    return &queue->watches->buckets[queue_hash(topic, seq) % WATCH_BUCKET_N];
}

void queue_watch(struct queue *queue, struct watch *watch)
{
    struct watch **bucket = bucket_of(queue, watch->topic, watch->seq);
    watch->previous = NULL;
    watch->next = *bucket;
    if (*bucket != NULL)
        (*bucket)->previous = watch;
    *bucket = watch;
    watch->is_on = true;
    queue->watches->adding_n += watch->seq == 0;
    metrics_add(queue->metrics, METRIC_CHECKS_PARKED, 1);
}

void queue_unwatch(struct queue *queue, struct watch *watch)
{
    if (!watch->is_on)
        return;
    if (watch->previous != NULL)
        watch->previous->next = watch->next;
    else
        *bucket_of(queue, watch->topic, watch->seq) = watch->next;
    if (watch->next != NULL)
        watch->next->previous = watch->previous;
    watch->is_on = false;
    queue->watches->adding_n -= watch->seq == 0;
    metrics_add(queue->metrics, METRIC_CHECKS_PARKED, -1);
}

static bool is_for(const struct watch *watch, struct str topic, uint64_t seq)
{
    return watch->seq == seq && str_eq(watch->topic, topic);
}

/* Calls the watch and returns the one after it. While the callback runs, a place of our own is
 * in the list after its watch: whatever the callback takes out, the watch after that place is the
 * next one. A place is of no query, and a round inside a callback passes over it. */
static struct watch *visit(struct watch **bucket, struct watch *at, const struct str *outcome)
{
    struct watch *next = at->next;
    struct watch place = {.previous = at, .next = next, .seq = UINT64_MAX};
    at->next = &place;
    if (next != NULL)
        next->previous = &place;
    if (outcome != NULL)
        at->on_outcome(at, *outcome);
    else
        at->on_changed(at);
    next = place.next;
    if (place.previous != NULL)
        place.previous->next = next;
    else
        *bucket = next;
    if (next != NULL)
        next->previous = place.previous;
    return next;
}

static void visit_all(struct queue *queue, struct str topic, uint64_t seq,
                      const struct str *outcome)
{
    struct watch **bucket = bucket_of(queue, topic, seq), *at = *bucket;
    while (at != NULL)
        at = is_for(at, topic, seq) ? visit(bucket, at, outcome) : at->next;
}

/* Calls the watches of that query. The bus may be faster than the reply to the verb that added it:
 * then it concerns one whose Seq is not known here yet. */
static void each_watch(struct queue *queue, struct str topic, uint64_t seq,
                       const struct str *outcome)
{
    visit_all(queue, topic, seq, outcome);
    if (queue->watches->adding_n > 0)
        visit_all(queue, topic, 0, NULL);
}

void watches_on_outcome(struct queue *queue, struct lines *rest)
{
    struct str topic = lines_next(rest);
    uint64_t seq = lines_next_u64(rest);
    if (log_is_on(LOG_DEBUG)) {
        struct lines outcome = *rest;
        log_write(LOG_DEBUG, "outcome received for waiters", LOG_STR("topic", topic),
                  LOG_U("seq", seq), LOG_STR("status", lines_next(&outcome)));
    }
    each_watch(queue, topic, seq, &rest->rest);
}

void watches_on_changed(struct queue *queue, struct lines *rest)
{
    struct str topic = lines_next(rest);
    uint64_t seq = lines_next_u64(rest);
    if (log_is_on(LOG_DEBUG))
        log_write(LOG_DEBUG, "query changed: waiters look again", LOG_STR("topic", topic),
                  LOG_U("seq", seq));
    each_watch(queue, topic, seq, NULL);
}

/* Those of `shard`; of SHARDS_MAX all. */
static void each(struct queue *queue, unsigned shard)
{
    for (unsigned i = 0; i < WATCH_BUCKET_N; i++)
        for (struct watch *at = queue->watches->buckets[i]; at != NULL;) {
            bool is_wanted = at->is_on && /* off: a place */
                             (shard == SHARDS_MAX || shard_of(at->topic, queue->shards.n) == shard);
            at = is_wanted ? visit(&queue->watches->buckets[i], at, NULL) : at->next;
        }
}

void watches_look_again(struct queue *queue, unsigned shard)
{
    each(queue, queue->shards.n == 1 ? SHARDS_MAX : shard);
}

void queue_each_watch(struct queue *queue)
{
    each(queue, SHARDS_MAX);
}
