/* SPDX-License-Identifier: MIT
 * queue.c - life and events of one node's queue, and what is wrong with its Redis (queue.h). */
#include "shared/queue/polls.h"

#include "shared/base/hash.h"
#include "shared/queue/vacancy.h"

#include <stdlib.h>

enum {
    RESCAN_MS = 5000,
    RESCAN_SHARDS_MS = 1000, /* of several: what no poll was called to waits for it */
};

uint32_t queue_hash(struct str s, uint64_t salt)
{
    uint32_t hash = hash_fnv32(s, (uint32_t)salt * 2654435761u);
    return hash ^ hash >> 15;
}

/* --- events ----------------------------------------------------------------------------------- */

void queue_on_event(struct queue *queue, unsigned shard, struct str event)
{
    struct lines lines = lines_of(event);
    struct str kind = lines_next(&lines);
    if (str_eq(kind, STR("claim")))
        polls_on_claim_event(queue, (struct origin){shard, true}, lines.rest);
    else if (str_eq(kind, STR("taken")) && str_eq(lines_next(&lines), STR("claim")))
        polls_on_claim_event(queue, (struct origin){shard, false}, lines.rest);
    else if (str_eq(kind, STR("work")))
        polls_on_work(queue, shard, &lines);
    else if (str_eq(kind, STR("open")))
        queue->parts[shard].open_n = lines_next_u64(&lines);
    else if (str_eq(kind, STR("rescan")))
        part_sync_by(&queue->parts[shard], 0);
    else if (str_eq(kind, STR("outcome")))
        watches_on_outcome(queue, &lines);
    else if (str_eq(kind, STR("changed")))
        watches_on_changed(queue, &lines);
    else if (str_eq(kind, STR("supersede")))
        polls_on_supersede(queue, &lines);
    else if (str_eq(kind, STR("outbox")))
        outbox_look(&queue->parts[shard]);
    else if (str_eq(kind, STR("vacancy")))
        vacancies_on_event(queue->vacancies, shard);
    else if (str_eq(kind, STR("drained")))
        polls_on_drained(queue, lines_next(&lines));
    else
        queue->config.on_other_event(queue->config.arg, kind, &lines);
}

static void on_event(void *arg, struct str event)
{
    struct queue_shard *part = arg;
    queue_on_event(part->queue, part_shard(part), event);
}

bool part_is_up(const struct queue_shard *part)
{
    return part->turn != NULL && part->bus != NULL && turn_is_up(part->turn) &&
           bus_is_up(part->bus);
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
    polls_on_up(queue, part_shard(part));
    count_connected(queue, are_all_up(queue));
    part_sync_by(part, 0);
    delivered_report(part);
    watches_look_again(queue, part_shard(part));
    queue->config.on_up(queue->config.arg, part_shard(part));
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
    polls_on_lost(part->queue, part_shard(part));
}

/* --- life ------------------------------------------------------------------------------------- */

static void init_part(struct queue *queue, unsigned number)
{
    struct queue_shard *part = &queue->parts[number];
    const struct queue_config *config = &queue->config;
    const struct redis_address *address = shard_server(config->map, number);
    const char *prefix = config->map->prefixes[number];
    part->queue = queue;
    delivered_init(part);
    timers_init(part);
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
    part->bus = bus_create(queue->loop, address, prefix, config->node_id, config->map->n > 1,
                           (struct bus_events){.on_event = on_event, .on_up = on_up, .arg = part});
}

struct queue *queue_create(struct loop *loop, const struct queue_config *config,
                           struct metrics *metrics)
{
    struct queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL)
        abort();
    queue->loop = loop;
    queue->config = *config;
    if (config->rescan_ms == 0)
        queue->config.rescan_ms = config->map->n == 1 ? RESCAN_MS : RESCAN_SHARDS_MS;
    queue->metrics = metrics;
    buf_init(&queue->differences, DIFFERENCES_MAX_BYTES);
    queue->shards.n = config->map->n;
    queue->parts = calloc(queue->shards.n, sizeof *queue->parts);
    if (queue->parts == NULL)
        abort();
    for (unsigned i = 0; i < queue->shards.n; i++)
        init_part(queue, i);
    queue->vacancies = vacancies_create(queue);
    return queue;
}

static void fini_part(struct queue_shard *part)
{
    timers_fini(part);
    delivered_fini(part);
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
    /* The end of what was under way may have set their timers. */
    for (unsigned i = 0; i < queue->shards.n; i++)
        fini_part(&queue->parts[i]);
    vacancies_destroy(queue->vacancies);
    polls_fini(queue);
    buf_fini(&queue->differences);
    free(queue->parts);
    free(queue);
}

struct shards *queue_shards(struct queue *queue)
{
    return &queue->shards;
}

struct queue_shard *queue_part(struct queue *queue, struct str topic)
{
    return &queue->parts[queue->shards.n == 1 ? 0 : shard_of(topic, queue->shards.n)];
}

static enum redis_trouble part_trouble(const struct queue_shard *part)
{
    if (part->turn == NULL || part->bus == NULL)
        return REDIS_AWAY;
    enum redis_trouble trouble = turn_trouble(part->turn);
    return trouble == REDIS_FINE || trouble == REDIS_FULL
               ? bus_is_up(part->bus) ? trouble : bus_trouble(part->bus)
               : trouble;
}

bool part_is_usable(const struct queue_shard *part)
{
    return part_is_up(part) && !redis_trouble_is_outage(turn_trouble(part->turn));
}

enum redis_trouble queue_trouble(const struct queue *queue, struct str topic)
{
    unsigned n = queue->shards.n;
    return part_trouble(&queue->parts[n == 1 ? 0 : shard_of(topic, n)]);
}

unsigned queue_server_n(const struct queue *queue)
{
    return queue->config.map->server_n;
}

enum redis_trouble queue_server_trouble(const struct queue *queue, unsigned server)
{
    enum redis_trouble trouble = REDIS_FINE;
    for (unsigned i = server; i < queue->shards.n; i += queue->config.map->server_n) {
        enum redis_trouble its = part_trouble(&queue->parts[i]);
        if (trouble == REDIS_FINE || (redis_trouble_is_outage(its) && trouble == REDIS_FULL))
            trouble = its;
    }
    return trouble;
}

bool queue_is_usable(const struct queue *queue)
{
    unsigned away_n = 0;
    for (unsigned i = 0; i < queue->shards.n; i++)
        away_n += redis_trouble_is_outage(part_trouble(&queue->parts[i]));
    return away_n * 2 <= queue->shards.n && (queue->shards.n == 1 || queue->parts[0].was_up);
}

struct str queue_drained(const struct queue *queue)
{
    return queue->drained;
}

struct str queue_node_id(const struct queue *queue)
{
    return str_of(queue->config.node_id);
}

uint64_t queue_lease_ms(const struct queue *queue)
{
    return queue->config.lease_ms;
}

void queue_count_added(struct queue *queue, struct str topic)
{
    struct queue_shard *part = queue_part(queue, topic);
    part->added_n++;
    part_look_after(part, queue->config.delivery_ms);
    metrics_add(queue->metrics, METRIC_QUERIES_ADDED, 1);
}

void queue_count_done(struct queue *queue, struct str topic)
{
    queue_part(queue, topic)->done_n++;
    metrics_add(queue->metrics, METRIC_ANSWERS, 1);
}
