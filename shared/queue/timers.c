/* SPDX-License-Identifier: MIT
 * timers.c - what one node's queue does by the clock (queue_internal.h): sync (the slow rescan:
 * says that we are there, states credits again), reap (when the next lease ends, as far as we
 * know), purge (retention, and questions that a dead node left). The fourth timer, of claims that
 * are confirmed together, is deliver.c's. None of them is needed for a request's path; each bounds
 * how long a lost message hurts. */
#include "shared/queue/polls.h"

#include "generated/verbs.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    NEWS_EVERY_MS = 1000,
    SYNC_RETRY_MS = 5,
    REAP_RETRY_MS = 1000,
    PURGE_EVERY_MS = 60000,
    PURGE_NEXT_MS = 100,
    /* What one sync states; what is left is the next one's. As lua/queue/sync.lua declares it:
     * with the engines these are no more arguments than TURN_ARGS_MAX. */
    SYNC_CLASSES_MAX = 150,
    INFO_MAX_BYTES = 1024
};

/* --- sync ------------------------------------------------------------------------------------- */

void part_sync_by(struct queue_shard *part, uint64_t after_ms)
{
    if (!deadline_is_set(&part->sync_timer) || part->sync_timer.at_ms > clock_mono_ms() + after_ms)
        loop_set_deadline(part->queue->loop, &part->sync_timer, after_ms);
}

void part_look_after(struct queue_shard *part, uint64_t after_ms)
{
    uint64_t until_ms = clock_mono_ms() + after_ms + QUEUE_REAP_AFTER_MS;
    if (part->look_after_until_ms < until_ms)
        part->look_after_until_ms = until_ms;
    part_reap_by(part, after_ms + QUEUE_REAP_AFTER_MS);
}

void queue_look_after_delivery(struct queue *queue)
{
    part_look_after(&queue->parts[0], queue->config.delivery_ms);
}

void queue_sync_soon(struct queue *queue, uint64_t after_ms)
{
    for (unsigned i = 0; i < queue->shards.n; i++)
        part_sync_by(&queue->parts[i], after_ms);
}

void part_reap_by(struct queue_shard *part, uint64_t after_ms)
{
    if (!deadline_is_set(&part->reap_timer) || part->reap_timer.at_ms > clock_mono_ms() + after_ms)
        loop_set_deadline(part->queue->loop, &part->reap_timer, after_ms);
}

/* The next lease of all ends in that time. One that ends very soon has others who look after it:
 * the node that added, while it is on its way (part_look_after: its timer may have been set for
 * another one, earlier); the node of its engine. If they are gone, it is found overdue by the next
 * sync of any node. With all nodes after each lease, each would cost a call of all nodes. */
static void follow_lease(struct queue_shard *part, uint64_t next_ms)
{
    const struct queue_config *config = &part->queue->config;
    uint64_t soon_ms = config->lease_ms / 2;
    if (soon_ms > config->delivery_ms)
        soon_ms = config->delivery_ms;
    bool is_ours = clock_mono_ms() + next_ms <= part->look_after_until_ms;
    if (next_ms == 0 || next_ms > soon_ms || is_ours)
        part_reap_by(part, next_ms + 2);
}

static void on_synced(struct call *call, enum err error, struct str reply)
{
    struct queue_shard *part = H2O_STRUCT_FROM_MEMBER(struct queue_shard, sync_call, call);
    struct queue *queue = part->queue;
    uint64_t next_ms;
    if (error != ERR_OK)
        return;
    struct lines lines = lines_of(reply);
    if (str_parse_u64(lines_next(&lines), &next_ms))
        follow_lease(part, next_ms);
    struct str drained = lines_next(&lines);
    if (part_shard(part) == 0 && !str_eq(drained, queue->drained)) /* the cluster's shard knows */
        polls_on_drained(queue, drained);
    if (part_shard(part) == 0)
        settings_compare(queue, &lines);
    polls_forget_unused(queue);
}

/* Has the class something to state to that shard? */
static bool is_stated(const struct poll_class *class, unsigned shard)
{
    return class_is_at(class, shard) &&
           (class->parked.n > 0 || ((class->reported | class->polled) & shard_bit(shard)) != 0);
}

static unsigned count_classes(const struct queue_shard *part)
{
    const struct queue *queue = part->queue;
    unsigned n = 0;
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class *class = queue->classes[i]; class != NULL; class = class->next)
            n += is_stated(class, part_shard(part));
    return n < SYNC_CLASSES_MAX ? n : SYNC_CLASSES_MAX;
}

/* From where the last sync ended: each class has its turn, however many there are. */
static unsigned claiming_at(const struct poll_class *class, unsigned shard)
{
    unsigned n = class->left_n;
    for (const struct poll *poll = class->claiming.first; poll != NULL; poll = poll->next)
        n += poll->shard == shard;
    return n;
}

static void put_class(struct poll_class *class, unsigned shard, struct verb_writer *verb)
{
    struct str name = class_name(class);
    unsigned idle_n = class_idle_n(class), parked = class->credits[shard],
             claiming = claiming_at(class, shard),
             elsewhere = idle_n > parked ? idle_n - parked : 0;
    if (class->is_drained)
        parked = claiming = elsewhere = 0;
    put_sync_class(verb, .name = name, .parked = parked, .claiming = claiming,
                   .elsewhere = elsewhere,
                   .lease = class->leases[shard] == 0 ? NO_NUMBER : class->leases[shard]);
    class->leases[shard] = 0;
    class->polled &= ~shard_bit(shard);
    if (parked + claiming + elsewhere > 0)
        class->hinted |= shard_bit(shard);
}

static void put_classes(struct queue_shard *part, struct verb_writer *verb, unsigned n)
{
    unsigned shard = part_shard(part);
    struct queue *queue = part->queue;
    for (unsigned i = 0; i < CLASS_BUCKET_N && n > 0; i++) {
        struct poll_class *class = queue->classes[part->sync_bucket];
        for (; class != NULL && n > 0; class = class->next) {
            if (!is_stated(class, shard))
                continue;
            credits_grant_missing(class);
            put_class(class, shard, verb);
            if (class->credits[shard] + class->claiming.n + class->left_n > 0)
                class->reported |= shard_bit(shard);
            else
                class->reported &= ~shard_bit(shard);
            n--;
        }
        if (class == NULL)
            part->sync_bucket = (part->sync_bucket + 1) % CLASS_BUCKET_N;
    }
}

/* Of several shards each has its own time of the second: a poll that two of them gave something to
 * would have to give one back. */
static uint64_t next_sync_ms(const struct queue_shard *part)
{
    const struct queue *queue = part->queue;
    uint64_t every_ms = queue->config.rescan_ms;
    if (queue->shards.n == 1)
        return every_ms;
    uint64_t phase_ms = every_ms * part_shard(part) / queue->shards.n;
    uint64_t after_ms = every_ms - (clock_mono_ms() + every_ms - phase_ms) % every_ms;
    return after_ms < every_ms / 2 ? after_ms + every_ms : after_ms;
}

uint64_t queue_sync_ms(const struct queue *queue)
{
    uint64_t every_ms = queue->config.rescan_ms;
    return queue->shards.n == 1 ? every_ms : every_ms + every_ms / 2; /* next_sync_ms */
}

static void on_sync_timer(struct deadline *deadline)
{
    struct queue_shard *part = H2O_STRUCT_FROM_MEMBER(struct queue_shard, sync_timer, deadline);
    struct queue *queue = part->queue;
    if (queue->has_left)
        return;
    /* Who wants one during another has news that came after that one was sent. */
    loop_set_deadline(queue->loop, &part->sync_timer,
                      call_is_under_way(&part->sync_call) ? SYNC_RETRY_MS : next_sync_ms(part));
    if (!part_is_up(part) || call_is_under_way(&part->sync_call))
        return;
    part->synced_ms = clock_mono_ms();
    char info[INFO_MAX_BYTES];
    const struct queue_config *config = &queue->config;
    bool has_settings = part_shard(part) == 0 && config->shared_settings != NULL;
    int n = snprintf(info, sizeof info, "{\"version\":\"%s\"%s}", PARLEY_VERSION,
                     config->about == NULL ? "" : config->about);
    if (n >= INFO_MAX_BYTES)
        abort(); /* its maker bounds it */
    unsigned class_n = count_classes(part);
    struct verb_writer verb = begin_sync(
        turn_call(part->turn, &part->sync_call, on_synced), .info = ((struct str){info, (size_t)n}),
        .settings = has_settings ? str_of(config->shared_settings) : STR(""),
        .added = part->added_n, .done = part->done_n, .class_n = class_n);
    put_classes(part, &verb, class_n);
    engines_put(part, &verb);
    end_verb(&verb);
    part->added_n = part->done_n = 0;
    outbox_look(part);
}

/* A sync that came later would put the node on the list again. Of those that are under way none is
 * left, unless the node has to end while Redis does not reply (services/node/serve.c). */
void queue_leave(struct queue *queue)
{
    queue->has_left = true;
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
    struct queue_shard *part = H2O_STRUCT_FROM_MEMBER(struct queue_shard, reap_call, call);
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
    struct queue_shard *part = H2O_STRUCT_FROM_MEMBER(struct queue_shard, reap_timer, deadline);
    if (call_is_under_way(&part->reap_call))
        return;
    if (!turn_is_up(part->turn)) {
        part_reap_by(part, REAP_RETRY_MS);
        return;
    }
    /* Confirm deliveries first. A node that was starved for as long as a delivery may take has only
     * just delivered its claims, and the reap would end their leases. */
    delivered_report(part);
    call_reap(turn_call(part->turn, &part->reap_call, on_reaped));
}

static void before_flush(struct queue_shard *part)
{
    uint64_t now_ms = clock_mono_ms();
    if (!turn_is_collecting(part->turn) || !part_is_up(part))
        return;
    delivered_before_flush(part);
    bool has_news = part->added_n > 0 || part->done_n > 0 || part->engine_n > 0;
    if (has_news && now_ms >= part->synced_ms + NEWS_EVERY_MS)
        on_sync_timer(&part->sync_timer);
}

void queue_before_flush(struct queue *queue)
{
    for (unsigned i = 0; i < queue->shards.n; i++)
        before_flush(&queue->parts[i]);
}

static void on_purged(struct call *call, enum err error, struct str reply)
{
    struct queue_shard *part = H2O_STRUCT_FROM_MEMBER(struct queue_shard, purge_call, call);
    if (error != ERR_OK || reply.n == 0 || reply.n >= sizeof part->purge_cursor)
        return;
    memcpy(part->purge_cursor, reply.at, reply.n);
    part->purge_cursor[reply.n] = 0;
    if (strcmp(part->purge_cursor, "0") != 0)
        loop_set_deadline(part->queue->loop, &part->purge_timer, PURGE_NEXT_MS);
}

static void on_purge_timer(struct deadline *deadline)
{
    struct queue_shard *part = H2O_STRUCT_FROM_MEMBER(struct queue_shard, purge_timer, deadline);
    struct queue *queue = part->queue;
    loop_set_deadline(queue->loop, &part->purge_timer, PURGE_EVERY_MS);
    if (!turn_is_up(part->turn) || call_is_under_way(&part->purge_call))
        return;
    call_sweep_asks(turn_forget(part->turn));
    if (queue->config.retention_s == 0)
        return;
    call_purge(turn_call(part->turn, &part->purge_call, on_purged),
               .max_age_s = queue->config.retention_s, .cursor = str_of(part->purge_cursor));
}

/* --- life ------------------------------------------------------------------------------------- */

void timers_init(struct queue_shard *part)
{
    part->sync_timer.on_expire = on_sync_timer;
    part->reap_timer.on_expire = on_reap_timer;
    part->purge_timer.on_expire = on_purge_timer;
    strcpy(part->purge_cursor, "0");
    part_sync_by(part, part->queue->config.rescan_ms);
    loop_set_deadline(part->queue->loop, &part->purge_timer, PURGE_EVERY_MS);
}

void timers_fini(struct queue_shard *part)
{
    struct loop *loop = part->queue->loop;
    loop_cancel_deadline(loop, &part->sync_timer);
    loop_cancel_deadline(loop, &part->reap_timer);
    loop_cancel_deadline(loop, &part->purge_timer);
}
