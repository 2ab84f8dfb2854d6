/* SPDX-License-Identifier: MIT
 * watch.c - who waits for which outcome (queue.h): lists of watches, one for each hash of topic and
 * Seq. A callback may watch, and unwatch its own or any other watch; see visit. */
#include "shared/queue/watch.h"

#include "shared/base/log.h"

struct watches {
    struct list buckets[WATCH_BUCKET_N]; /* struct watch */
    unsigned adding_n;                   /* whose Seq is not known yet */
};

struct watches *watches_create(void)
{
    return mem_zeroed(sizeof(struct watches));
}

void watches_destroy(struct watches *watches)
{
    free(watches);
}

const struct list *watches_at(const struct queue *queue, unsigned bucket)
{
    return &queue->watches->buckets[bucket];
}

static struct list *bucket_of(struct queue *queue, struct str topic, uint64_t seq)
{
    return &queue->watches->buckets[queue_hash(topic, seq) % WATCH_BUCKET_N];
}

void queue_watch(struct queue *queue, struct watch *watch)
{
    list_prepend(bucket_of(queue, watch->topic, watch->seq), &watch->link);
    queue->watches->adding_n += watch->seq == 0;
    metrics_add(queue->metrics, METRIC_CHECKS_PARKED, 1);
}

void queue_unwatch(struct queue *queue, struct watch *watch)
{
    if (!list_is_linked(&watch->link))
        return;
    list_remove(&watch->link);
    queue->watches->adding_n -= watch->seq == 0;
    metrics_add(queue->metrics, METRIC_CHECKS_PARKED, -1);
}

static bool is_for(const struct watch *watch, struct str topic, uint64_t seq)
{
    return watch->seq == seq && str_eq(watch->topic, topic);
}

/* An outcome, or a piece; without either, something changed. */
struct news {
    const struct str *outcome;
    const struct piece *piece;
};

static const struct news changed;

/* Calls the watch and returns the one after it. While the callback runs, a place of our own is
 * in the list after its watch: whatever the callback takes out, the watch after that place is the
 * next one. A place is of no query, and a round inside a callback passes over it. */
static struct watch *visit(const struct list *bucket, struct watch *at, const struct news *news)
{
    struct watch place = {.seq = UINT64_MAX};
    list_insert(at->link.next, &place.link);
    if (news->outcome != NULL)
        at->on_outcome(at, *news->outcome);
    else if (news->piece == NULL)
        at->on_changed(at);
    else if (at->on_piece != NULL)
        at->on_piece(at, news->piece);
    struct watch *next = list_next(bucket, &place, struct watch, link);
    list_remove(&place.link);
    return next;
}

static void visit_all(struct queue *queue, struct str topic, uint64_t seq, const struct news *news)
{
    const struct list *bucket = bucket_of(queue, topic, seq);
    struct watch *at = list_first(bucket, struct watch, link);
    while (at != NULL)
        at = is_for(at, topic, seq) ? visit(bucket, at, news)
                                    : list_next(bucket, at, struct watch, link);
}

/* Calls the watches of that query. The bus may be faster than the reply to the verb that added it:
 * then it concerns one whose Seq is not known here yet. */
static void each_watch(struct queue *queue, struct str topic, uint64_t seq, const struct news *news)
{
    visit_all(queue, topic, seq, news);
    if (queue->watches->adding_n > 0)
        visit_all(queue, topic, 0, &changed);
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
    each_watch(queue, topic, seq, &(struct news){.outcome = &rest->rest});
}

void watches_on_changed(struct queue *queue, struct lines *rest)
{
    struct str topic = lines_next(rest);
    uint64_t seq = lines_next_u64(rest);
    if (log_is_on(LOG_DEBUG))
        log_write(LOG_DEBUG, "query changed: waiters look again", LOG_STR("topic", topic),
                  LOG_U("seq", seq));
    each_watch(queue, topic, seq, &changed);
}

void watches_on_piece(struct queue *queue, struct lines *rest)
{
    struct str topic = lines_next(rest);
    uint64_t seq = lines_next_u64(rest);
    struct piece piece;
    if (piece_read_event(rest, &piece))
        visit_all(queue, topic, seq, &(struct news){.piece = &piece});
}

/* Those of `shard`; of SHARDS_MAX all. */
static void each(struct queue *queue, unsigned shard)
{
    for (unsigned i = 0; i < WATCH_BUCKET_N; i++) {
        const struct list *bucket = watches_at(queue, i);
        for (struct watch *at = list_first(bucket, struct watch, link); at != NULL;) {
            bool is_wanted = at->seq != UINT64_MAX && /* a place */
                             (shard == SHARDS_MAX || shard_of(at->topic, queue->shards.n) == shard);
            at =
                is_wanted ? visit(bucket, at, &changed) : list_next(bucket, at, struct watch, link);
        }
    }
}

void watches_recheck(struct queue *queue, unsigned shard)
{
    each(queue, queue->shards.n == 1 ? SHARDS_MAX : shard);
}

void queue_each_watch(struct queue *queue)
{
    each(queue, SHARDS_MAX);
}
