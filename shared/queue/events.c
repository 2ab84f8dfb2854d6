/* SPDX-License-Identifier: MIT
 * events.c - life of one node's queue, and what scripts and connections notify it of (queue.h). */
#include "shared/queue/deliver.h"
#include "shared/queue/engines.h"
#include "shared/queue/outbox.h"
#include "shared/queue/poll.h"
#include "shared/queue/poll_credits.h"
#include "shared/queue/poll_handover.h"
#include "shared/queue/poll_move.h"
#include "shared/queue/settings.h"
#include "shared/queue/shown.h"
#include "shared/queue/timers.h"
#include "shared/queue/vacancy.h"
#include "shared/queue/watch.h"
#include "shared/redis/fence.h"

enum {
    RESCAN_MS = 5000,
    RESCAN_SHARDS_MS = 1000, /* of several: what no poll was called to waits for it */
};

/* --- events ----------------------------------------------------------------------------------- */

void queue_on_event(struct queue *queue, unsigned shard, struct str event)
{
    struct lines lines = lines_of(event);
    struct str kind = lines_next(&lines);
    if (str_eq(kind, STR("claim")))
        handover_on_event(queue, (struct origin){shard, true}, lines.rest);
    else if (str_eq(kind, STR("taken")) && str_eq(lines_next(&lines), STR("claim")))
        handover_on_event(queue, (struct origin){shard, false}, lines.rest);
    else if (str_eq(kind, STR("work")))
        moves_on_work(queue, shard, &lines);
    else if (str_eq(kind, STR("open")))
        queue->parts[shard].open_n = lines_next_u64(&lines);
    else if (str_eq(kind, STR("rescan")))
        part_sync_by(&queue->parts[shard], 0);
    else if (str_eq(kind, STR("outcome")))
        watches_on_outcome(queue, &lines);
    else if (str_eq(kind, STR("piece")))
        watches_on_piece(queue, &lines);
    else if (str_eq(kind, STR("watched")))
        showers_on_watched(queue, &lines);
    else if (str_eq(kind, STR("changed")))
        watches_on_changed(queue, &lines);
    else if (str_eq(kind, STR("supersede")))
        polls_on_supersede(queue, &lines);
    else if (str_eq(kind, STR("outbox")))
        outbox_check(&queue->parts[shard]);
    else if (str_eq(kind, STR("vacancy")))
        vacancies_on_event(queue->vacancies, shard);
    else if (str_eq(kind, STR("drained")))
        credits_on_drained(queue, lines_next(&lines));
    else
        queue->config.on_other_event(queue->config.arg, kind, &lines);
}

static void on_event(void *arg, struct str event)
{
    struct queue_shard *part = arg;
    queue_on_event(part->queue, part->number, event);
}

static bool are_all_up(const struct queue *queue)
{
    for (unsigned i = 0; i < queue->shards.n; i++)
        if (!part_is_up(&queue->parts[i]))
            return false;
    return true;
}

static void count_connected(struct queue *queue, bool is_connected)
{
    if (queue->is_counted != is_connected)
        metrics_add(queue->metrics, METRIC_CONNECTED, is_connected ? 1 : -1);
    queue->is_counted = is_connected;
}

/* Everything may have been missed: waiting requests look again, credits are stated again. */
static void on_up(void *arg)
{
    struct queue_shard *part = arg;
    struct queue *queue = part->queue;
    if (part->bus != NULL)
        bus_check_place(part->bus); /* which follows the turn, and comes back here */
    if (!part_is_up(part))
        return;
    part->was_up = true;
    credits_on_up(queue, part->number);
    count_connected(queue, are_all_up(queue));
    part_sync_by(part, 0);
    delivered_report(part);
    watches_recheck(queue, part->number);
    queue->config.on_up(queue->config.arg, part->number);
}

static void on_turn_sent(void *arg, unsigned verb_n)
{
    struct queue_shard *part = arg;
    metrics_add(part->queue->metrics, METRIC_TURNS, 1);
    metrics_add(part->queue->metrics, METRIC_TURN_VERBS, verb_n);
}

static void on_turn_lost(void *arg)
{
    struct queue_shard *part = arg;
    metrics_add(part->queue->metrics, METRIC_REDIS_LOST, 1);
    count_connected(part->queue, false);
    credits_on_lost(part->queue, part->number);
}

/* --- life ------------------------------------------------------------------------------------- */

static void connect_part(struct queue_shard *part)
{
    struct queue *queue = part->queue;
    const struct queue_config *config = &queue->config;
    unsigned number = part->number;
    const struct redis_address *address = shard_server(config->map, number);
    const char *prefix = config->map->prefixes[number];
    struct turn_config turn = {.prefix = prefix,
                               .map = config->map,
                               .shard = number,
                               .node_id = config->node_id,
                               .lease_ms = config->lease_ms,
                               .delivery_ms = config->delivery_ms,
                               .max_attempts = config->max_attempts,
                               .queue_max = config->queue_max,
                               .fallback_ms = config->fallback_ms,
                               .durable = config->durable,
                               .on_event = on_event,
                               .on_up = on_up,
                               .on_lost = on_turn_lost,
                               .on_sent = on_turn_sent,
                               .metrics = queue->metrics,
                               .arg = part};
    part->turn = queue->shards.turns[number] = turn_create(queue->loop, address, &turn);
    if (config->durable != DURABLE_NOT)
        fence_create(part->turn);
    part->bus = bus_create(queue->loop, address, prefix, config->node_id, config->map->n > 1,
                           (struct bus_events){.on_event = on_event, .on_up = on_up, .arg = part});
}

static void create_tables(struct queue *queue)
{
    queue->classes = classes_create();
    queue->moves = moves_create();
    queue->engines = engines_create();
    queue->deliveries = deliveries_create(queue);
    queue->watches = watches_create();
    queue->outboxes = outboxes_create(queue);
    queue->settings = settings_create();
    queue->showers = showers_create();
    queue->timers = timers_create(queue);
    queue->vacancies = vacancies_create(queue);
}

static void destroy_tables(struct queue *queue)
{
    vacancies_destroy(queue->vacancies);
    timers_destroy(queue);
    showers_destroy(queue->showers);
    settings_destroy(queue->settings);
    outboxes_destroy(queue->outboxes);
    watches_destroy(queue->watches);
    deliveries_destroy(queue);
    engines_destroy(queue->engines);
    moves_destroy(queue->moves);
    handover_fini(queue);
    classes_destroy(queue->classes);
}

struct queue *queue_create(struct loop *loop, const struct queue_config *config,
                           struct metrics *metrics)
{
    struct queue *queue = mem_zeroed(sizeof *queue);
    queue->loop = loop;
    queue->config = *config;
    if (config->rescan_ms == 0)
        queue->config.rescan_ms = config->map->n == 1 ? RESCAN_MS : RESCAN_SHARDS_MS;
    queue->metrics = metrics;
    queue->shards.n = config->map->n;
    queue->parts = mem_zeroed_n(queue->shards.n, sizeof *queue->parts);
    for (unsigned i = 0; i < queue->shards.n; i++) {
        queue->parts[i].queue = queue;
        queue->parts[i].number = i;
    }
    create_tables(queue);
    for (unsigned i = 0; i < queue->shards.n; i++)
        connect_part(&queue->parts[i]);
    return queue;
}

void queue_destroy(struct queue *queue)
{
    if (queue == NULL)
        return;
    for (unsigned i = 0; i < queue->shards.n; i++)
        turn_stop(queue->parts[i].turn);
    for (unsigned i = 0; i < queue->shards.n; i++) {
        turn_destroy(queue->parts[i].turn);
        bus_destroy(queue->parts[i].bus);
    }
    destroy_tables(queue); /* after the end of what was under way, which may have set timers */
    free(queue->parts);
    free(queue);
}
