/* SPDX-License-Identifier: MIT
 * queue.c - life, events and timers of one node's queue (queue.h).
 *
 * Timers: sync (the slow rescan: says that we are there, states credits again), reap (when the next
 * lease ends, as far as we know), delivered (claims confirmed together, see deliver.c), purge
 * (retention, and questions that a dead node left). None of them is needed for a request's path;
 * each bounds how long a lost message hurts. */
#include "shared/queue/queue_internal.h"

#include "generated/verbs.h"
#include "shared/base/hash.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    NEWS_EVERY_MS = 1000,
    SYNC_RETRY_MS = 5,
    REAP_RETRY_MS = 1000,
    PURGE_EVERY_MS = 60000,
    PURGE_NEXT_MS = 100,
    /* What one sync states; what is left is the next one's. */
    SYNC_CLASSES_MAX = 250,
};

uint32_t queue_hash(struct str s, uint64_t salt)
{
    uint32_t hash = hash_fnv32(s, (uint32_t)salt * 2654435761u);
    return hash ^ hash >> 15;
}

/* --- events ----------------------------------------------------------------------------------- */

void queue_on_event(struct queue *queue, struct str event)
{
    struct lines lines = lines_of(event);
    struct str kind = lines_next(&lines);
    if (str_eq(kind, STR("claim")))
        polls_on_claim_event(queue, lines.rest);
    else if (str_eq(kind, STR("outcome")))
        watches_on_outcome(queue, &lines);
    else if (str_eq(kind, STR("changed")))
        watches_on_changed(queue, &lines);
    else if (str_eq(kind, STR("supersede")))
        polls_on_supersede(queue, &lines);
    else if (str_eq(kind, STR("drained")))
        polls_on_drained(queue, lines_next(&lines));
    else
        queue->config.on_other_event(queue->config.arg, kind, &lines);
}

static void on_event(void *arg, struct str event)
{
    queue_on_event(arg, event);
}

/* Everything may have been missed: waiting requests look again, credits are stated again. */
static void on_up(void *arg)
{
    struct queue *queue = arg;
    if (!queue_is_up(queue))
        return;
    if (!queue->is_counted)
        metrics_add(queue->metrics, METRIC_CONNECTED, 1);
    queue->is_counted = true;
    queue_sync_soon(queue, 0);
    queue_tell_delivered(queue);
    queue_each_watch(queue);
    queue->config.on_up(queue->config.arg);
}

static void on_turn_sent(void *arg, unsigned verb_n)
{
    struct queue *queue = arg;
    metrics_add(queue->metrics, METRIC_TURNS, 1);
    metrics_add(queue->metrics, METRIC_TURN_VERBS, verb_n);
}

static void on_turn_lost(void *arg)
{
    struct queue *queue = arg;
    metrics_add(queue->metrics, METRIC_REDIS_LOST, 1);
    if (queue->is_counted)
        metrics_add(queue->metrics, METRIC_CONNECTED, -1);
    queue->is_counted = false;
    polls_on_lost(queue);
}

/* --- sync ------------------------------------------------------------------------------------- */

void queue_sync_soon(struct queue *queue, uint64_t after_ms)
{
    if (!deadline_is_set(&queue->sync_timer) ||
        queue->sync_timer.at_ms > clock_mono_ms() + after_ms)
        loop_set_deadline(queue->loop, &queue->sync_timer, after_ms);
}

void queue_look_after(struct queue *queue, uint64_t after_ms)
{
    uint64_t until_ms = clock_mono_ms() + after_ms + QUEUE_REAP_AFTER_MS;
    if (queue->look_after_until_ms < until_ms)
        queue->look_after_until_ms = until_ms;
    queue_reap_by(queue, after_ms + QUEUE_REAP_AFTER_MS);
}

void queue_look_after_delivery(struct queue *queue)
{
    queue_look_after(queue, queue->config.delivery_ms);
}

void queue_reap_by(struct queue *queue, uint64_t after_ms)
{
    if (!deadline_is_set(&queue->reap_timer) ||
        queue->reap_timer.at_ms > clock_mono_ms() + after_ms)
        loop_set_deadline(queue->loop, &queue->reap_timer, after_ms);
}

/* The next lease of all ends in that time. One that ends very soon has others who look after it:
 * the node that added, while it is on its way (queue_look_after: its timer may have been set for
 * another one, earlier); the node of its engine. If they are gone, it is found overdue by the next
 * sync of any node. With all nodes after each lease, each would cost a call of all nodes. */
static void follow_lease(struct queue *queue, uint64_t next_ms)
{
    uint64_t soon_ms = queue->config.lease_ms / 2;
    if (soon_ms > queue->config.delivery_ms)
        soon_ms = queue->config.delivery_ms;
    bool is_ours = clock_mono_ms() + next_ms <= queue->look_after_until_ms;
    if (next_ms == 0 || next_ms > soon_ms || is_ours)
        queue_reap_by(queue, next_ms + 2);
}

static void on_synced(struct call *call, enum err error, struct str reply)
{
    struct queue *queue = H2O_STRUCT_FROM_MEMBER(struct queue, sync_call, call);
    uint64_t next_ms;
    if (error != ERR_OK)
        return;
    struct lines lines = lines_of(reply);
    if (str_parse_u64(lines_next(&lines), &next_ms))
        follow_lease(queue, next_ms);
    struct str drained = lines_next(&lines);
    if (!str_eq(drained, queue->drained))
        polls_on_drained(queue, drained);
    polls_forget_unused(queue);
}

static unsigned count_classes(const struct queue *queue)
{
    unsigned n = 0;
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class *class = queue->classes[i]; class != NULL; class = class->next)
            n += class->parked.n > 0 || class->is_told;
    return n < SYNC_CLASSES_MAX ? n : SYNC_CLASSES_MAX;
}

/* From where the last sync ended: each class has its turn, however many there are. */
static void put_classes(struct queue *queue, struct verb_writer *verb, unsigned n)
{
    for (unsigned i = 0; i < CLASS_BUCKET_N && n > 0; i++) {
        struct poll_class *class = queue->classes[queue->sync_bucket];
        for (; class != NULL && n > 0; class = class->next) {
            if (class->parked.n == 0 && !class->is_told)
                continue;
            unsigned claiming_n = class->claiming.n + class->left_n;
            put_sync_class(verb, .name = ((struct str){class->name, class->name_n}),
                           .parked = class->is_drained ? 0 : class->parked.n,
                           .claiming = class->is_drained ? 0 : claiming_n);
            class->is_told = class->parked.n + claiming_n > 0;
            n--;
        }
        if (class == NULL)
            queue->sync_bucket = (queue->sync_bucket + 1) % CLASS_BUCKET_N;
    }
}

static void on_sync_timer(struct deadline *deadline)
{
    struct queue *queue = H2O_STRUCT_FROM_MEMBER(struct queue, sync_timer, deadline);
    /* Who wants one during another has news that came after that one was sent. */
    loop_set_deadline(queue->loop, &queue->sync_timer,
                      call_is_under_way(&queue->sync_call) ? SYNC_RETRY_MS
                                                           : queue->config.rescan_ms);
    if (!queue_is_up(queue) || call_is_under_way(&queue->sync_call))
        return;
    queue->synced_ms = clock_mono_ms();
    /* Uploads: an indexer of a node whose record does not say so reads a string
     * (lua/documents/uploads.lua). */
    char info[160];
    int n =
        snprintf(info, sizeof info, "{\"version\":\"%s\",\"uploads\":\"blocks\"}", PARLEY_VERSION);
    unsigned class_n = count_classes(queue);
    struct verb_writer verb =
        begin_sync(turn_call(queue->turn, &queue->sync_call, on_synced),
                   .info = ((struct str){info, (size_t)n}), .added = queue->added_n,
                   .done = queue->done_n, .class_n = class_n);
    put_classes(queue, &verb, class_n);
    engines_put(queue, &verb);
    end_verb(&verb);
    queue->added_n = queue->done_n = 0;
}

/* --- reap, purge --------------------------------------------------------------------- */

static void on_reaped(struct call *call, enum err error, struct str reply)
{
    struct queue *queue = H2O_STRUCT_FROM_MEMBER(struct queue, reap_call, call);
    uint64_t next_ms;
    if (error != ERR_OK)
        queue_reap_by(queue, REAP_RETRY_MS);
    else if (str_parse_u64(reply, &next_ms))
        follow_lease(queue, next_ms);
}

static void on_reap_timer(struct deadline *deadline)
{
    struct queue *queue = H2O_STRUCT_FROM_MEMBER(struct queue, reap_timer, deadline);
    if (call_is_under_way(&queue->reap_call))
        return;
    if (!turn_is_up(queue->turn)) {
        queue_reap_by(queue, REAP_RETRY_MS);
        return;
    }
    call_reap(turn_call(queue->turn, &queue->reap_call, on_reaped));
}

void queue_before_flush(struct queue *queue)
{
    uint64_t now_ms = clock_mono_ms();
    if (!turn_is_collecting(queue->turn) || !queue_is_up(queue))
        return;
    delivered_before_flush(queue);
    bool has_news = queue->added_n > 0 || queue->done_n > 0 || queue->engine_n > 0;
    if (has_news && now_ms >= queue->synced_ms + NEWS_EVERY_MS)
        on_sync_timer(&queue->sync_timer);
}

static void on_purged(struct call *call, enum err error, struct str reply)
{
    struct queue *queue = H2O_STRUCT_FROM_MEMBER(struct queue, purge_call, call);
    if (error != ERR_OK || reply.n == 0 || reply.n >= sizeof queue->purge_cursor)
        return;
    memcpy(queue->purge_cursor, reply.at, reply.n);
    queue->purge_cursor[reply.n] = 0;
    if (strcmp(queue->purge_cursor, "0") != 0)
        loop_set_deadline(queue->loop, &queue->purge_timer, PURGE_NEXT_MS);
}

static void on_purge_timer(struct deadline *deadline)
{
    struct queue *queue = H2O_STRUCT_FROM_MEMBER(struct queue, purge_timer, deadline);
    loop_set_deadline(queue->loop, &queue->purge_timer, PURGE_EVERY_MS);
    if (!turn_is_up(queue->turn) || call_is_under_way(&queue->purge_call))
        return;
    call_sweep_asks(turn_forget(queue->turn));
    if (queue->config.retention_s == 0)
        return;
    call_purge(turn_call(queue->turn, &queue->purge_call, on_purged),
               .max_age_s = queue->config.retention_s, .cursor = str_of(queue->purge_cursor));
}

/* --- life ------------------------------------------------------------------------------------- */

struct queue *queue_create(struct loop *loop, const struct queue_config *config,
                           struct metrics *metrics)
{
    struct queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL)
        abort();
    queue->loop = loop;
    queue->config = *config;
    queue->metrics = metrics;
    queue->sync_timer.on_expire = on_sync_timer;
    queue->reap_timer.on_expire = on_reap_timer;
    queue->delivered_timer.on_expire = delivered_on_timer;
    queue->purge_timer.on_expire = on_purge_timer;
    strcpy(queue->purge_cursor, "0");
    struct turn_config turn = {.prefix = config->prefix,
                               .node_id = config->node_id,
                               .lease_ms = config->lease_ms,
                               .delivery_ms = config->delivery_ms,
                               .max_attempts = config->max_attempts,
                               .queue_max = config->queue_max,
                               .on_event = on_event,
                               .on_up = on_up,
                               .on_lost = on_turn_lost,
                               .on_sent = on_turn_sent,
                               .metrics = metrics,
                               .arg = queue};
    queue->turn = turn_create(loop, config->redis, &turn);
    queue->bus =
        bus_create(loop, config->redis, config->prefix, config->node_id,
                   (struct bus_events){.on_event = on_event, .on_up = on_up, .arg = queue});
    queue_sync_soon(queue, config->rescan_ms);
    loop_set_deadline(loop, &queue->purge_timer, PURGE_EVERY_MS);
    return queue;
}

void queue_destroy(struct queue *queue)
{
    if (queue == NULL)
        return;
    turn_destroy(queue->turn);
    bus_destroy(queue->bus);
    /* The end of what was under way may have set them. */
    loop_cancel_deadline(queue->loop, &queue->sync_timer);
    loop_cancel_deadline(queue->loop, &queue->reap_timer);
    loop_cancel_deadline(queue->loop, &queue->delivered_timer);
    loop_cancel_deadline(queue->loop, &queue->purge_timer);
    for (unsigned i = 0; i < queue->delivered_n; i++)
        free(queue->delivered[i].claim);
    polls_fini(queue);
    free(queue);
}

struct turn *queue_turn(struct queue *queue)
{
    return queue->turn;
}

bool queue_is_up(const struct queue *queue)
{
    return queue->turn != NULL && queue->bus != NULL && turn_is_up(queue->turn) &&
           bus_is_up(queue->bus);
}

enum redis_trouble queue_trouble(const struct queue *queue)
{
    if (queue->turn == NULL || queue->bus == NULL)
        return REDIS_AWAY;
    enum redis_trouble trouble = turn_trouble(queue->turn);
    return trouble == REDIS_FINE || trouble == REDIS_FULL
               ? bus_is_up(queue->bus) ? trouble : bus_trouble(queue->bus)
               : trouble;
}

uint64_t queue_lease_ms(const struct queue *queue)
{
    return queue->config.lease_ms;
}

void queue_count_added(struct queue *queue)
{
    queue->added_n++;
    queue_look_after_delivery(queue);
    metrics_add(queue->metrics, METRIC_QUERIES_ADDED, 1);
}

void queue_count_done(struct queue *queue)
{
    queue->done_n++;
    metrics_add(queue->metrics, METRIC_ANSWERS, 1);
}
