/* SPDX-License-Identifier: MIT
 * status.c - GET /api/status: what the shards count, added up, and the engines and nodes that they
 * know (lua/operator/status.lua). */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/base/clock.h"
#include "shared/http/gather.h"

enum { ENGINE_LINES = 3 };

static void put_number_or_null(struct buf *b, struct str digits, double divisor)
{
    uint64_t number;
    if (!str_parse_u64(digits, &number))
        buf_lit(b, "null");
    else if (divisor == 1)
        buf_put_u64(b, number);
    else
        buf_printf(b, "%.3f", (double)number / divisor);
}

/* When an engine has rested that said so (lua/queue/away.lua); null when that is past. */
static void put_rest(struct buf *b, struct str info)
{
    const struct str head = STR("{\"RestingUntilMs\":");
    uint64_t until_ms = 0;
    if (str_has_prefix(info, head)) {
        struct str digits = {info.at + head.n, info.n - head.n};
        if (!str_parse_u64(str_cut(&digits, ','), &until_ms))
            until_ms = 0;
    }
    if (until_ms <= clock_wall_s() * 1000) {
        buf_lit(b, "null");
        return;
    }
    buf_put_json_time(b, until_ms);
}

/* `drained`: the accounts that are, as names. */
static void put_engine(struct buf *b, struct lines *lines, struct str drained)
{
    struct str who = lines_next(lines), account = str_cut(&who, ' ');
    buf_lit(b, "{\"User\":");
    buf_put_json_of_name(b, account);
    buf_lit(b, ",\"Engine\":");
    if (str_eq(who, STR("-")))
        buf_lit(b, "null");
    else
        buf_put_json_of_name(b, who);
    buf_lit(b, ",\"SeenSecondsAgo\":");
    put_number_or_null(b, lines_next(lines), 1000);
    struct str info = lines_next(lines);
    buf_lit(b, ",\"Info\":");
    buf_put(b, info);
    buf_lit(b, ",\"RestingUntil\":");
    put_rest(b, info);
    buf_lit(b, ",\"Drained\":");
    buf_put(b, str_is_listed(drained, account) ? STR("true}") : STR("false}"));
}

/* What the shards count, added up. */
struct status {
    uint64_t depth, oldest_ms, in_flight, lookups, parked, added, done, failed, span_s;
    bool has_oldest;
    struct str drained;                                  /* the cluster's shard knows it */
    struct lines engines[SHARDS_MAX], nodes[SHARDS_MAX]; /* the first lines of each list */
    uint64_t engine_n[SHARDS_MAX];
};

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
    status->engine_n[shard] = lines_next_u64(&lines);
    status->engines[shard] = lines;
    for (uint64_t i = 0; i < status->engine_n[shard] * ENGINE_LINES; i++)
        (void)lines_next(&lines);
    status->nodes[shard] = lines;
}

/* Each engine is known to one shard. */
static void put_engines(struct buf *b, struct status *status, unsigned shard_n)
{
    bool is_first = true;
    for (unsigned shard = 0; shard < shard_n; shard++)
        for (uint64_t i = 0; i < status->engine_n[shard]; i++) {
            buf_put(b, is_first ? STR("") : STR(","));
            put_engine(b, &status->engines[shard], status->drained);
            is_first = false;
        }
}

/* A node is known to all shards: shown is what the first of them has of it. */
static bool is_known(const struct status *status, unsigned before, struct str id)
{
    for (unsigned shard = 0; shard < before; shard++)
        for (struct lines lines = status->nodes[shard]; lines_are_left(&lines);) {
            if (str_eq(lines_next(&lines), id))
                return true;
            (void)lines_next(&lines);
            (void)lines_next(&lines);
        }
    return false;
}

static void put_nodes(struct buf *b, const struct status *status, unsigned shard_n)
{
    bool is_first = true;
    for (unsigned shard = 0; shard < shard_n; shard++)
        for (struct lines lines = status->nodes[shard]; lines_are_left(&lines);) {
            struct str id = lines_next(&lines), age = lines_next(&lines), info = lines_next(&lines);
            if (is_known(status, shard, id))
                continue;
            buf_put(b, is_first ? STR("{\"Node\":") : STR(",{\"Node\":"));
            buf_put_json_of_name(b, id);
            buf_lit(b, ",\"SeenSecondsAgo\":");
            put_number_or_null(b, age, 1000);
            buf_lit(b, ",\"Info\":");
            buf_put(b, info);
            buf_put_char(b, '}');
            is_first = false;
        }
}

static void put_status(struct buf *b, const struct status *status)
{
    buf_clear(b);
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

static void on_status(struct request *r, enum err error, const struct gather *all)
{
    struct lines none = lines_of(STR(""));
    struct status *status = request_alloc(r, sizeof *status);
    if (reply_refuse(r, error, STR("ok"), &none))
        return;
    *status = (struct status){.depth = 0};
    for (unsigned i = 0; i < all->n; i++)
        if (!gather_is_missing(all, i))
            read_status(status, i, all->replies[i]);
    struct buf *b = &r->server->scratch;
    put_status(b, status);
    buf_lit(b, ",\"Engines\":[");
    put_engines(b, status, all->n);
    buf_lit(b, "],\"Nodes\":[");
    put_nodes(b, status, all->n);
    buf_printf(b, "],\"Redis\":{\"Status\":\"%s\",\"RoundTripUs\":%llu",
               all->missing == 0 ? "connected" : "degraded",
               (unsigned long long)turn_took_us(shards_cluster(r->server->shards)));
    gather_put_missing(b, all->missing);
    buf_lit(b, "}}");
    respond_json(r, 200, b);
}

void broker_status(struct request *r)
{
    struct gather *all = gather_begin_partial(r, on_status);
    for (unsigned i = 0; i < all->n; i++)
        call_status(gather_call(r, i));
}
