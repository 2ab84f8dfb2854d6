/* SPDX-License-Identifier: MIT
 * status.c - GET /api/status: what the shards count, added up, the engines and nodes that are
 * there, and settings in which nodes differ. Operators look here when Redis is away or slow: what
 * the shards do not say in time is null, and the rest is the node's own. */
#include "services/broker/status.h"

#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/http/access/gate.h"
#include "shared/http/request/gather.h"
#include "shared/redis/trouble.h"

enum { WAIT_MS = 1000, MEMBERS_MAX_BYTES = 60 << 10 /* of an error */ };

/* Puts what only Redis knows. */
static void put_cluster(struct buf *b, struct request *r, const struct status *status)
{
    buf_put_char(b, '{');
    status_put_counts(b, status);
    buf_lit(b, ",\"Engines\":[");
    status_put_engines(b, r, status);
    buf_lit(b, "],\"Nodes\":[");
    status_put_nodes(b, status, false);
    buf_lit(b, "],\"GoneNodes\":[");
    status_put_nodes(b, status, true);
    buf_put_char(b, ']');
}

/* The same, without a single shard. */
static void put_nothing(struct buf *b)
{
    buf_lit(b, "{\"Depth\":null,\"OldestSeconds\":null,\"InFlight\":null,\"OpenLookups\":null,"
               "\"ParkedPolls\":null,\"Recent\":null,\"Engines\":null,\"Nodes\":null,"
               "\"GoneNodes\":null,\"Work\":null");
}

/* In this node's file, which is the same on all nodes. */
static void put_accounts(struct buf *b, struct request *r)
{
    const struct accounts *accounts = gate_accounts(r->server->gate);
    unsigned n[ROLE_NR] = {0};
    for (size_t i = 0; i < accounts_count(accounts); i++)
        n[accounts_at(accounts, i)->role]++;
    buf_lit(b, ",\"Accounts\":{");
    for (unsigned role = 0; role < ROLE_NR; role++)
        buf_printf(b, "%s\"%.*s\":%u", role == 0 ? "" : ",", STR_ARG(role_name(role)), n[role]);
    buf_put_char(b, '}');
}

/* Puts the members about the process that answers. */
static void put_here(struct buf *b, struct request *r)
{
    put_accounts(b, r);
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

static enum redis_trouble trouble_of(const struct queue *queue)
{
    enum redis_trouble trouble = REDIS_FINE;
    for (unsigned i = 0; i < queue_server_n(queue) && trouble == REDIS_FINE; i++)
        trouble = queue_server_trouble(queue, i);
    return trouble;
}

static void put_redis(struct buf *b, struct request *r, const struct gather *all, bool is_alone)
{
    enum redis_trouble trouble = trouble_of(broker_of(r)->queue);
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
    buf_put_char(b, '}');
}

/* From its first member on, without the end of the object. */
static void put_status(struct buf *b, struct request *r, const struct gather *all, bool is_alone)
{
    struct status *status = request_alloc(r, sizeof *status);
    status_init(status, all->n);
    for (unsigned i = 0; i < all->n; i++)
        if (!gather_is_missing(all, i))
            status_read(status, i, all->replies[i]);
    if (is_alone)
        put_nothing(b);
    else
        put_cluster(b, r, status);
    put_here(b, r);
    put_differences(b, r);
    if (request_param_is_true(r, "Detail"))
        put_verbs(b);
    buf_put_char(b, ']');
    put_redis(b, r, all, is_alone);
    buf_put_char(b, '}');
}

/* Its nonce may not be used up, so it is 503, which may be sent again, and says as much as 200
 * would. */
static void respond_unavailable(struct request *r, const struct gather *all)
{
    enum redis_trouble trouble = trouble_of(broker_of(r)->queue);
    struct buf members;
    buf_init(&members, MEMBERS_MAX_BYTES);
    buf_lit(&members, "\"Status\":");
    put_status(&members, r, all, true);
    buf_terminate(&members);
    respond_error_more(r, redis_trouble_info(trouble == REDIS_FINE ? REDIS_AWAY : trouble)->error,
                       NULL, members.is_over ? NULL : members.at, 0);
    buf_fini(&members);
}

static void on_status(struct request *r, enum err error, const struct gather *all)
{
    struct lines none = lines_of(STR(""));
    bool is_alone = (unsigned)__builtin_popcountll(all->missing) == all->n;
    if (reply_refuse(r, error, STR("ok"), &none))
        return;
    if (is_alone && r->is_signed) {
        respond_unavailable(r, all);
        return;
    }
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    put_status(b, r, all, is_alone);
    respond_json(r, 200, b);
}

static void ask(struct request *r)
{
    for (unsigned i = 0; i < r->gather->n; i++)
        call_status(gather_call(r, i));
}

static void on_nonce_used(struct request *r, enum err error, struct str reply)
{
    (void)reply; /* "ok": a replay has been answered with that */
    if (error == ERR_OK)
        ask(r);
    else if (err_is_outage(error))
        gather_give_up(r);
    else
        respond_error(r, error, NULL);
}

void broker_status(struct request *r)
{
    (void)gather_begin_until(r, on_status, WAIT_MS);
    if (r->nonce.is_set && r->server->shards->n > 1)
        request_use_nonce(r, on_nonce_used);
    else
        ask(r);
}
