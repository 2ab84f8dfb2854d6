/* SPDX-License-Identifier: MIT
 * operator.c - what operators see and steer (lua/operator). */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/base/clock.h"
#include "shared/http/gather.h"

#include <stdio.h>

enum { PAGE = 100, ACCOUNT_MAX_BYTES = 128, ENGINE_LINES = 3 };

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
    buf_put_char(b, '"');
    buf_put_timestamp(b, until_ms / 1000);
    buf_lit(b, "Z\"");
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

/* --- the queue -------------------------------------------------------------------------------- */

/* Shards are listed one after the other. Where a page begins is one number for clients: how many
 * queries were looked at, times the shards, and the shard. */
struct listing {
    enum verb_list_state state;
    struct str user;
    unsigned shard;
    uint64_t looked_n;
    bool has_answer;  /* of one shard at least, here or on an earlier page */
    uint64_t missing; /* shards that are away, a bit each: they are passed over */
};

static void list(struct request *r);

/* Where the next page begins; false when there is none. */
static bool move_on(struct listing *listing, unsigned shard_n, struct str next)
{
    if (str_parse_u64(next, &listing->looked_n))
        return true;
    listing->looked_n = 0;
    return ++listing->shard < shard_n;
}

static void on_list(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct listing *listing = r->state;
    unsigned shard_n = r->server->shards->n;
    bool is_away = err_is_outage(error) && shard_n > 1;
    bool is_passed_over = is_away && (listing->has_answer || listing->shard + 1 < shard_n);
    if (!is_passed_over && reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    if (is_passed_over)
        listing->missing |= UINT64_C(1) << listing->shard;
    listing->has_answer |= !is_away;
    bool has_next = move_on(listing, shard_n, lines_next(&lines));
    if (has_next && !lines_are_left(&lines) && listing->looked_n == 0) {
        list(r); /* that shard has none, or no more */
        return;
    }
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"Queries\":[");
    for (bool is_first = true; lines_are_left(&lines); is_first = false) {
        struct str topic = lines_next(&lines);
        uint64_t seq = lines_next_u64(&lines);
        struct outcome o = lines_next_outcome(&lines);
        buf_put(b, is_first ? STR("{\"Topic\":") : STR(",{\"Topic\":"));
        buf_put_json_of_name(b, topic);
        buf_put_key(b, "Seq");
        buf_put_u64(b, seq);
        buf_put_key(b, "User");
        buf_put(b, o.row.user);
        buf_put_key(b, "Model");
        buf_put(b, o.row.model);
        buf_put_key(b, "Query");
        buf_put(b, o.row.query);
        buf_printf(b, ",\"Status\":\"%.*s\",\"Timestamp\":", STR_ARG(o.status));
        buf_put_json_ms(b, o.row.created_ms);
        if (o.reason.n > 0) {
            buf_put_key(b, "Reason");
            buf_put(b, o.reason);
        }
        buf_put_char(b, '}');
    }
    uint64_t next = listing->looked_n * shard_n + listing->shard;
    if (has_next)
        buf_printf(b, "],\"Next\":\"%llu\"", (unsigned long long)next);
    else
        buf_lit(b, "],\"Next\":null");
    gather_put_missing(b, listing->missing);
    buf_put_char(b, '}');
    respond_json(r, 200, b);
}

static void list(struct request *r)
{
    struct listing *listing = r->state;
    call_list(request_call_at(r, listing->shard, on_list), .state = listing->state,
              .user = listing->user, .skip = listing->looked_n, .page = PAGE);
}

/* Open by default. */
static bool read_state(struct request *r, enum verb_list_state *ret_state)
{
    struct str state = request_param(r, "State");
    if (state.n == 0 || str_eq(state, STR("Open")))
        *ret_state = LIST_OPEN;
    else if (str_eq(state, STR("Pending")))
        *ret_state = LIST_PENDING;
    else if (str_eq(state, STR("Failed")))
        *ret_state = LIST_FAILED;
    else
        return false;
    return true;
}

void broker_queue(struct request *r)
{
    struct str user = request_param(r, "User");
    enum verb_list_state state;
    uint64_t after;
    if (!read_state(r, &state)) {
        respond_error(r, ERR_BAD_REQUEST, "State must be Open, Pending or Failed.");
        return;
    }
    /* User is also who signs: the one to look for stands in OnBehalfOf, or in a second User. */
    struct str wanted = request_param(r, "OnBehalfOf");
    if (wanted.at == NULL && !r->is_signed)
        wanted = user;
    if (wanted.at == NULL && r->is_signed)
        wanted = request_second_param(r, "User");
    struct str name = STR("");
    if (wanted.n > 0 && !on_behalf_any_name(r, wanted, &name))
        return;
    if (!request_param_u64(r, "After", 0, UINT32_MAX, 0, &after))
        return;
    unsigned shard_n = r->server->shards->n;
    struct listing *listing = r->state = request_alloc(r, sizeof *listing);
    *listing = (struct listing){.state = state,
                                .user = name,
                                .shard = (unsigned)(after % shard_n),
                                .looked_n = after / shard_n,
                                .has_answer = after > 0};
    list(r);
}

static void on_retried(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (!reply_refuse(r, error, lines_next(&lines), &lines))
        respond_json_fixed(r, 200, STR("{\"Status\":\"Open\"}"));
}

void broker_retry_query(struct request *r)
{
    struct str topic;
    uint64_t seq;
    if (!request_body(r) || !names_topic_member(r, &topic) || !params_seq(r, 1, &seq))
        return;
    call_retry(request_call(r, on_retried), .topic = topic, .seq = seq);
}

static void on_drained(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    const struct json_span *drain = request_member(r, "Drain");
    bool is_off = drain != NULL && drain->raw.at[0] == 'f';
    respond_json_fixed(r, 200, is_off ? STR("{\"Drained\":false}") : STR("{\"Drained\":true}"));
}

void broker_drain_engine(struct request *r)
{
    struct str user;
    bool is_drained;
    if (!request_body(r) || !request_text(r, "User", 1, ACCOUNT_MAX_BYTES, &user) ||
        !request_optional_bool(r, "Drain", true, &is_drained))
        return;
    const struct account *engine = accounts_find(gate_accounts(&r->server->gate), user);
    if (engine == NULL || engine->role != ROLE_ENGINE) {
        respond_error(r, ERR_NOT_FOUND, "There is no engine account of that name.");
        return;
    }
    call_drain(request_call(r, on_drained), .account = engine->name_token,
               .is_drained = is_drained);
}
