/* SPDX-License-Identifier: MIT
 * timers.c - runs the timed work of a node's queue (timers.h): sync (the slow rescan: says that we
 * are there, states credits again), reap (when the next lease ends, as far as we know), purge
 * (retention, and questions that a dead node left). The fourth timer, of claims that are confirmed
 * together, is deliver.c's. None of them is needed for a request's path; each bounds how long a
 * lost message hurts. */
#include "shared/queue/timers.h"

#include "generated/verbs.h"
#include "shared/queue/deliver.h"
#include "shared/queue/engines.h"
#include "shared/queue/outbox.h"
#include "shared/queue/poll_credits.h"
#include "shared/queue/poll_report.h"
#include "shared/queue/settings.h"
#include "shared/queue/shown.h"

#include <stdio.h>

enum {
    NEWS_EVERY_MS = 1000,
    SYNC_RETRY_MS = 5,
    REAP_RETRY_MS = 1000,
    PURGE_EVERY_MS = 60000,
    PURGE_NEXT_MS = 100,
    INFO_MAX_BYTES = 1024
};

struct shard_timers {
    struct queue_shard *part;
    struct deadline purge_timer;
    struct call sync_call, reap_call, purge_call;
    uint64_t synced_ms; /* when the last sync was sent */
    char purge_cursor[32];
};

struct timers {
    bool has_left;  /* queue_leave */
    uint32_t phase; /* of this node's syncs */
    struct shard_timers shards[SHARDS_MAX];
};

static struct shard_timers *timers_of(const struct queue_shard *part)
{
    return &part->queue->timers->shards[part->number];
}

/* --- sync ------------------------------------------------------------------------------------- */

/* The next lease of all ends in that time. One that ends very soon has others who look after it:
 * the node that added, while it is on its way (part_cover_leases: its timer may have been set for
 * another one, earlier); the node of its engine. If they are gone, it is found overdue by the next
 * sync of any node. With all nodes after each lease, each would cost a call of all nodes: so of
 * many nodes, whose syncs come all the time, none waits for it. */
static void follow_lease(struct queue_shard *part, uint64_t next_ms)
{
    const struct queue_config *config = &part->queue->config;
    uint64_t soon_ms = config->lease_ms / 2;
    if (soon_ms > config->delivery_ms)
        soon_ms = config->delivery_ms;
    bool is_ours = clock_mono_ms() + next_ms <= part->covered_until_ms;
    bool is_few = part->queue->shards.pace_ms[part->number] == 0;
    if (next_ms == 0 || is_ours || (is_few && next_ms > soon_ms))
        part_reap_by(part, next_ms + 2);
}

static void on_synced(struct call *call, enum err error, struct str reply)
{
    struct queue_shard *part = container_of(call, struct shard_timers, sync_call)->part;
    struct queue *queue = part->queue;
    uint64_t next_ms;
    if (error != ERR_OK)
        return;
    struct lines lines = lines_of(reply);
    struct str pace = lines_next(&lines), next = str_cut(&pace, ' ');
    uint64_t *pace_ms = &queue->shards.pace_ms[part->number];
    if (!str_parse_u64(pace, pace_ms))
        *pace_ms = 0;
    if (str_parse_u64(next, &next_ms))
        follow_lease(part, next_ms);
    struct str drained = lines_next(&lines);
    if (part->number == 0 && !str_eq(drained, queue_drained(queue))) /* the cluster's shard knows */
        credits_on_drained(queue, drained);
    if (part->number == 0)
        settings_compare(queue, &lines);
    classes_forget_unused(queue);
}

/* How long this node waits between two syncs of the shard: of many nodes each syncs seldom, so that
 * a shard has as many syncs as of a few (lua/queue/pace.lua). */
static uint64_t sync_every_ms(const struct queue_shard *part)
{
    uint64_t rescan_ms = part->queue->config.rescan_ms;
    uint64_t pace_ms = part->queue->shards.pace_ms[part->number];
    return pace_ms > rescan_ms ? pace_ms : rescan_ms;
}

/* Each node has its own time, and each shard of it: nodes that were started together would sync
 * together, and a poll that two shards gave something to would have to give one back. */
static uint64_t next_sync_ms(const struct queue_shard *part)
{
    const struct queue *queue = part->queue;
    uint64_t every_ms = sync_every_ms(part);
    uint64_t shard_ms = every_ms * part->number / queue->shards.n;
    uint64_t phase_ms = (queue->timers->phase + shard_ms) % every_ms;
    uint64_t after_ms = every_ms - (clock_mono_ms() + every_ms - phase_ms) % every_ms;
    return after_ms < every_ms / 2 ? after_ms + every_ms : after_ms;
}

uint64_t queue_sync_ms(const struct queue *queue)
{
    uint64_t every_ms = queue->config.rescan_ms;
    return every_ms + every_ms / 2; /* next_sync_ms */
}

static void on_sync_timer(struct deadline *deadline)
{
    struct queue_shard *part = container_of(deadline, struct queue_shard, sync_timer);
    struct shard_timers *timers = timers_of(part);
    struct queue *queue = part->queue;
    if (queue->timers->has_left)
        return;
    /* Who wants one during another has news that came after that one was sent. */
    loop_set_deadline(queue->loop, &part->sync_timer,
                      call_is_under_way(&timers->sync_call) ? SYNC_RETRY_MS : next_sync_ms(part));
    if (!part_is_up(part) || call_is_under_way(&timers->sync_call))
        return;
    timers->synced_ms = clock_mono_ms();
    char info[INFO_MAX_BYTES];
    const struct queue_config *config = &queue->config;
    bool has_settings = part->number == 0 && config->shared_settings != NULL;
    int n = snprintf(info, sizeof info, "{\"version\":\"%s\"%s}", PARLEY_VERSION,
                     config->about == NULL ? "" : config->about);
    if (n >= INFO_MAX_BYTES)
        abort(); /* its maker bounds it */
    unsigned class_n = report_count_classes(part);
    struct verb_writer verb =
        begin_sync(turn_call(part->turn, &timers->sync_call, on_synced),
                   .info = ((struct str){info, (size_t)n}),
                   .settings = has_settings ? str_of(config->shared_settings) : STR(""),
                   .added = part->added_n, .done = part->done_n, .class_n = class_n);
    report_put_classes(part, &verb, class_n);
    engines_put(part, &verb);
    end_verb(&verb);
    part->added_n = part->done_n = 0;
    outbox_check(part);
}

/* A sync that came later would put the node on the list again. Of those that are under way none is
 * left, unless the node has to end while Redis does not reply (services/node/serve.c). */
void queue_leave(struct queue *queue)
{
    queue->timers->has_left = true;
    for (unsigned i = 0; i < queue->shards.n; i++) {
        struct queue_shard *part = &queue->parts[i];
        loop_cancel_deadline(queue->loop, &part->sync_timer);
        if (!part_is_usable(part))
            continue;
        delivered_report(part);
        call_node_leave(turn_forget(part->turn));
    }
}

/* --- reap, purge ------------------------------------------------------------------------------ */

static void on_reaped(struct call *call, enum err error, struct str reply)
{
    struct queue_shard *part = container_of(call, struct shard_timers, reap_call)->part;
    struct metrics *metrics = part->queue->metrics;
    uint64_t next_ms;
    if (error != ERR_OK)
        part_reap_by(part, REAP_RETRY_MS);
    struct lines lines = lines_of(reply);
    if (error == ERR_OK && str_parse_u64(lines_next(&lines), &next_ms))
        follow_lease(part, next_ms);
    metrics_add(metrics, METRIC_LEASES_EXPIRED, (int64_t)lines_next_u64(&lines));
    metrics_add(metrics, METRIC_LEASES_UNDELIVERED, (int64_t)lines_next_u64(&lines));
}

static void on_reap_timer(struct deadline *deadline)
{
    struct queue_shard *part = container_of(deadline, struct queue_shard, reap_timer);
    struct call *reaping = &timers_of(part)->reap_call;
    if (call_is_under_way(reaping))
        return;
    if (!turn_is_up(part->turn)) {
        part_reap_by(part, REAP_RETRY_MS);
        return;
    }
    /* Confirm deliveries first. A node that was starved for as long as a delivery may take has only
     * just delivered its claims, and the reap would end their leases. */
    delivered_report(part);
    call_reap(turn_call(part->turn, reaping, on_reaped));
}

static void before_flush(struct queue_shard *part)
{
    uint64_t now_ms = clock_mono_ms();
    if (!turn_is_collecting(part->turn) || !part_is_up(part))
        return;
    delivered_before_flush(part);
    bool has_news = part->added_n > 0 || part->done_n > 0 || engines_have_news(part);
    if (has_news && now_ms >= timers_of(part)->synced_ms + NEWS_EVERY_MS)
        on_sync_timer(&part->sync_timer);
}

void queue_before_flush(struct queue *queue)
{
    showers_flush(queue);
    for (unsigned i = 0; i < queue->shards.n; i++)
        before_flush(&queue->parts[i]);
}

static void on_purged(struct call *call, enum err error, struct str reply)
{
    struct shard_timers *timers = container_of(call, struct shard_timers, purge_call);
    if (error != ERR_OK || reply.n == 0 || reply.n >= sizeof timers->purge_cursor)
        return;
    memcpy(timers->purge_cursor, reply.at, reply.n);
    timers->purge_cursor[reply.n] = 0;
    if (strcmp(timers->purge_cursor, "0") != 0)
        loop_set_deadline(timers->part->queue->loop, &timers->purge_timer, PURGE_NEXT_MS);
}

static void on_purge_timer(struct deadline *deadline)
{
    struct shard_timers *timers = container_of(deadline, struct shard_timers, purge_timer);
    struct queue_shard *part = timers->part;
    struct queue *queue = part->queue;
    /* Any node does it for all. */
    loop_set_deadline(queue->loop, &timers->purge_timer,
                      PURGE_EVERY_MS * sync_every_ms(part) / queue->config.rescan_ms);
    if (!turn_is_up(part->turn) || call_is_under_way(&timers->purge_call))
        return;
    call_sweep_asks(turn_forget(part->turn));
    if (queue->config.retention_s == 0)
        return;
    call_purge(turn_call(part->turn, &timers->purge_call, on_purged),
               .max_age_s = queue->config.retention_s, .cursor = str_of(timers->purge_cursor));
}

/* --- life ------------------------------------------------------------------------------------- */

static void init(struct shard_timers *timers, struct queue_shard *part, uint32_t phase)
{
    timers->part = part;
    part->sync_timer.on_expire = on_sync_timer;
    part->reap_timer.on_expire = on_reap_timer;
    timers->purge_timer.on_expire = on_purge_timer;
    strcpy(timers->purge_cursor, "0");
    part_sync_by(part, part->queue->config.rescan_ms);
    /* Not all that were started together. */
    loop_set_deadline(part->queue->loop, &timers->purge_timer,
                      PURGE_EVERY_MS - phase % (PURGE_EVERY_MS / 2));
}

struct timers *timers_create(struct queue *queue)
{
    struct timers *timers = mem_zeroed(sizeof *timers);
    timers->phase = queue_hash(str_of(queue->config.node_id), 0);
    for (unsigned i = 0; i < queue->shards.n; i++)
        init(&timers->shards[i], &queue->parts[i], timers->phase);
    return timers;
}

void timers_destroy(struct queue *queue)
{
    for (unsigned i = 0; i < queue->shards.n; i++) {
        loop_cancel_deadline(queue->loop, &queue->parts[i].sync_timer);
        loop_cancel_deadline(queue->loop, &queue->parts[i].reap_timer);
        loop_cancel_deadline(queue->loop, &queue->timers->shards[i].purge_timer);
    }
    free(queue->timers);
}
