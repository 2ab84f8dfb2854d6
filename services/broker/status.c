/* SPDX-License-Identifier: MIT
 * status.c - GET /api/status: what the shards count, added up, the engines and nodes that are
 * there, and settings in which nodes differ. Operators look here when Redis is away or slow: what
 * the shards do not say in time is null, and the rest is the node's own. */
#include "services/broker/status.h"

#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/http/gather.h"
#include "shared/redis/trouble.h"

enum { WAIT_MS = 1000 };

static void read_status(struct status *status, unsigned shard, struct str reply)
{
    struct lines lines = lines_of(reply);
    uint64_t oldest_ms;
    (void)lines_next(&lines); /* "ok" */
    status->depth += lines_next_u64(&lines);
    if (str_parse_u64(lines_next(&lines), &oldest_ms)) {
        status->has_oldest = true;
        status->oldest_ms = oldest_ms > status->oldest_ms ? oldest_ms : status->oldest_ms;
    }
    status->in_flight += lines_next_u64(&lines);
    status->lookups += lines_next_u64(&lines);
    status->parked += lines_next_u64(&lines);
    status->added += lines_next_u64(&lines);
    status->done += lines_next_u64(&lines);
    status->failed += lines_next_u64(&lines);
    status->span_s = lines_next_u64(&lines);
    struct str drained = lines_next(&lines);
    if (shard == 0)
        status->drained = drained;
    uint64_t engine_n = lines_next_u64(&lines);
    status->engines[shard] = lines;
    for (; status->engine_n[shard] < engine_n && lines_are_left(&lines); status->engine_n[shard]++)
        for (unsigned i = 0; i < STATUS_ENGINE_LINES; i++)
            (void)lines_next(&lines);
    status->nodes[shard] = lines;
}

static void put_counts(struct buf *b, const struct status *status)
{
    buf_printf(b, "{\"Depth\":%llu,\"OldestSeconds\":", (unsigned long long)status->depth);
    if (status->has_oldest)
        buf_printf(b, "%.3f", (double)status->oldest_ms / 1000);
    else
        buf_lit(b, "null");
    buf_printf(b, ",\"InFlight\":%llu,\"OpenLookups\":%llu,\"ParkedPolls\":%llu",
               (unsigned long long)status->in_flight, (unsigned long long)status->lookups,
               (unsigned long long)status->parked);
    buf_printf(b, ",\"Recent\":{\"Seconds\":%llu,\"Added\":%llu,\"Done\":%llu,\"Failed\":%llu",
               (unsigned long long)status->span_s, (unsigned long long)status->added,
               (unsigned long long)status->done, (unsigned long long)status->failed);
    buf_printf(b, ",\"DonePerSecond\":%.3f}",
               status->span_s == 0 ? 0.0 : (double)status->done / (double)status->span_s);
}

/* What only Redis knows. */
static void put_cluster(struct buf *b, struct request *r, const struct status *status)
{
    put_counts(b, status);
    buf_lit(b, ",\"Engines\":[");
    status_put_engines(b, r, status);
    buf_lit(b, "],\"Nodes\":[");
    status_put_nodes(b, status);
    buf_put_char(b, ']');
}

/* The same, without a single shard. */
static void put_nothing(struct buf *b)
{
    buf_lit(b, "{\"Depth\":null,\"OldestSeconds\":null,\"InFlight\":null,\"OpenLookups\":null,"
               "\"ParkedPolls\":null,\"Recent\":null,\"Engines\":null,\"Nodes\":null");
}

/* Of the process that answers. */
static void put_here(struct buf *b, struct request *r)
{
    buf_printf(b, ",\"Here\":{\"Node\":\"%s\",\"ParkedPolls\":%lld,\"WaitingChecks\":%lld}",
               r->server->node_id, (long long)metrics_sum(METRIC_POLLS_PARKED),
               (long long)metrics_sum(METRIC_CHECKS_PARKED));
}

/* As this node sees it: its own values first. */
static void put_differences(struct buf *b, struct request *r)
{
    struct lines lines = queue_differences(broker_of(r)->queue);
    bool is_first = true;
    buf_lit(b, ",\"DifferentSettings\":[");
    while (lines_are_left(&lines)) {
        buf_put(b, is_first ? STR("{\"Setting\":") : STR(",{\"Setting\":"));
        buf_put_json(b, lines_next(&lines));
        buf_lit(b, ",\"Here\":");
        buf_put_json_of_name(b, lines_next(&lines));
        buf_lit(b, ",\"There\":");
        buf_put_json_of_name(b, lines_next(&lines));
        buf_lit(b, ",\"OtherNode\":");
        buf_put_json(b, lines_next(&lines));
        buf_put_char(b, '}');
        is_first = false;
    }
}

static void put_verbs(struct buf *b)
{
    struct verb_view view;
    bool is_first = true;
    buf_lit(b, "],\"Verbs\":[");
    for (unsigned i = 0; metrics_sum_verb(i, &view); i++) {
        if (view.calls == 0)
            continue;
        buf_put(b, is_first ? STR("") : STR(","));
        buf_printf(b, "{\"Verb\":\"%.*s\",\"Calls\":%llu,\"Errors\":%llu,\"Us\":%llu}",
                   STR_ARG(view.name), (unsigned long long)view.calls,
                   (unsigned long long)view.errors, (unsigned long long)view.took_us);
        is_first = false;
    }
}

static void put_redis(struct buf *b, struct request *r, const struct gather *all, bool is_alone)
{
    const struct queue *queue = broker_of(r)->queue;
    enum redis_trouble trouble = REDIS_FINE;
    for (unsigned i = 0; i < queue_server_n(queue) && trouble == REDIS_FINE; i++)
        trouble = queue_server_trouble(queue, i);
    buf_printf(b, ",\"Redis\":{\"Status\":\"%s\",\"RoundTripUs\":",
               is_alone            ? "away"
               : all->missing == 0 ? "connected"
                                   : "degraded");
    if (gather_is_missing(all, 0))
        buf_lit(b, "null");
    else
        buf_put_u64(b, turn_took_us(shards_cluster(r->server->shards)));
    if (trouble != REDIS_FINE) {
        buf_lit(b, ",\"Trouble\":");
        buf_put_json(b, str_of(redis_trouble_info(trouble)->text));
    }
    gather_put_missing(b, all->missing);
}

static void on_status(struct request *r, enum err error, const struct gather *all)
{
    struct lines none = lines_of(STR(""));
    struct status *status = request_alloc(r, sizeof *status);
    if (reply_refuse(r, error, STR("ok"), &none))
        return;
    *status = (struct status){.shard_n = all->n};
    for (unsigned i = 0; i < all->n; i++)
        if (!gather_is_missing(all, i))
            read_status(status, i, all->replies[i]);
    struct buf *b = &r->server->scratch;
    bool is_alone = (unsigned)__builtin_popcountll(all->missing) == all->n;
    buf_clear(b);
    if (is_alone)
        put_nothing(b);
    else
        put_cluster(b, r, status);
    put_here(b, r);
    put_differences(b, r);
    if (request_param_is_true(r, "Detail"))
        put_verbs(b);
    buf_lit(b, "]");
    put_redis(b, r, all, is_alone);
    buf_lit(b, "}}");
    respond_json(r, 200, b);
}

void broker_status(struct request *r)
{
    struct gather *all = gather_begin_until(r, on_status, WAIT_MS);
    for (unsigned i = 0; i < all->n; i++)
        call_status(gather_call(r, i));
}
