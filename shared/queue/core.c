/* SPDX-License-Identifier: MIT
 * core.c - a node's part of each shard, and what is wrong with its Redis (core.h, queue.h). */
#include "shared/queue/core.h"

#include "shared/base/hash.h"

uint32_t queue_hash(struct str s, uint64_t salt)
{
    uint32_t hash = hash_fnv32(s, (uint32_t)salt * 2654435761u);
    return hash ^ hash >> 15;
}

/* --- parts ------------------------------------------------------------------------------------ */

struct queue_shard *queue_part(struct queue *queue, struct str topic)
{
    return &queue->parts[queue->shards.n == 1 ? 0 : shard_of(topic, queue->shards.n)];
}

bool part_is_up(const struct queue_shard *part)
{
    return part->turn != NULL && part->bus != NULL && turn_is_up(part->turn) &&
           bus_is_up(part->bus);
}

bool part_is_usable(const struct queue_shard *part)
{
    return part_is_up(part) && !redis_trouble_is_outage(turn_trouble(part->turn));
}

enum redis_trouble part_trouble(const struct queue_shard *part)
{
    if (part->turn == NULL || part->bus == NULL)
        return REDIS_AWAY;
    enum redis_trouble trouble = turn_trouble(part->turn);
    return trouble == REDIS_FINE || trouble == REDIS_FULL
               ? bus_is_up(part->bus) ? trouble : bus_trouble(part->bus)
               : trouble;
}

/* --- timers ----------------------------------------------------------------------------------- */

static void run_by(struct queue_shard *part, struct deadline *timer, uint64_t after_ms)
{
    if (!deadline_is_set(timer) || timer->at_ms > clock_mono_ms() + after_ms)
        loop_set_deadline(part->queue->loop, timer, after_ms);
}

void part_sync_by(struct queue_shard *part, uint64_t after_ms)
{
    run_by(part, &part->sync_timer, after_ms);
}

void part_reap_by(struct queue_shard *part, uint64_t after_ms)
{
    run_by(part, &part->reap_timer, after_ms);
}

void part_cover_leases(struct queue_shard *part, uint64_t after_ms)
{
    uint64_t until_ms = clock_mono_ms() + after_ms + QUEUE_REAP_AFTER_MS;
    if (part->covered_until_ms < until_ms)
        part->covered_until_ms = until_ms;
    part_reap_by(part, after_ms + QUEUE_REAP_AFTER_MS);
}

void queue_cover_delivery(struct queue *queue)
{
    part_cover_leases(&queue->parts[0], queue->config.delivery_ms);
}

/* --- what is wrong with Redis ----------------------------------------------------------------- */

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

/* --- facts and counts ------------------------------------------------------------------------- */

struct shards *queue_shards(struct queue *queue)
{
    return &queue->shards;
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
    part_cover_leases(part, queue->config.delivery_ms);
    metrics_add(queue->metrics, METRIC_QUERIES_ADDED, 1);
}

void queue_count_done(struct queue *queue, struct str topic)
{
    queue_part(queue, topic)->done_n++;
    metrics_add(queue->metrics, METRIC_ANSWERS, 1);
}
