/* SPDX-License-Identifier: MIT
 * probes.c - probes for load balancers and orchestrators. Node-local facts only, so a probe makes
 * no call to Redis; /metrics is in scrapes.c. */
#include "generated/routes_node.h"
#include "services/node/services.h"
#include "shared/http/access/gate.h"
#include "shared/http/access/oidc.h"
#include "shared/http/request/respond.h"
#include "shared/redis/durability.h"

#include <stdio.h>

enum { DETAILS_MAX = 1024, DIFFERENT_MAX = 8192 };

void probes_live(struct request *r)
{
    respond_json_fixed(r, 200, STR("{\"status\":\"alive\"}"));
}

/* Puts what is wrong with the servers of --redis, a sentence each; of several with their places in
 * that list, since addresses are for operators alone. Returns the worst of it. */
static enum redis_trouble put_troubles(struct buf *b, const struct queue *queue)
{
    enum redis_trouble worst = REDIS_FINE;
    unsigned n = queue_server_n(queue);
    for (unsigned i = 0; i < n; i++) {
        enum redis_trouble trouble = queue_server_trouble(queue, i);
        if (trouble == REDIS_FINE)
            continue;
        if (worst == REDIS_FINE || worst == REDIS_FULL)
            worst = trouble;
        if (b->n > 0)
            buf_put_char(b, ' ');
        if (n > 1)
            buf_printf(b, "Server %u of %u: ", i + 1, n);
        buf_printf(b, "%s", redis_trouble_info(trouble)->text);
    }
    return worst;
}

void probes_ready(struct request *r)
{
    const struct queue *queue = r->server->services->queue;
    char bytes[DETAILS_MAX];
    struct buf text = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    enum redis_trouble trouble = put_troubles(&text, queue);
    struct buf *b = &r->server->scratch;
    if (r->server->is_draining) {
        respond_error(r, ERR_DRAINING, NULL);
        return;
    }
    if (!queue_is_usable(queue)) {
        buf_terminate(&text);
        respond_error(r, redis_trouble_info(trouble == REDIS_FINE ? REDIS_AWAY : trouble)->error,
                      text.n > 0 ? bytes : redis_trouble_info(REDIS_AWAY)->text);
        return;
    }
    buf_clear(b);
    buf_lit(b, "{");
    if (redis_trouble_is_outage(trouble)) {
        buf_lit(b, "\"away\":");
        buf_put_json(b, buf_str(&text));
        buf_put_char(b, ',');
    }
    buf_printf(b, "%s\"status\":\"ready\"}", trouble == REDIS_FULL ? "\"full\":true," : "");
    respond_json(r, 200, b);
}

static void put_redis(struct health_report *report, struct queue *queue)
{
    char bytes[DETAILS_MAX];
    struct buf details = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    enum redis_trouble trouble = put_troubles(&details, queue);
    durability_put(&details, shards_warnings(queue_shards(queue)));
    health_put(report, "redis", trouble == REDIS_FINE ? HEALTH_GOOD : HEALTH_BAD,
               str_trim(buf_str(&details)));
}

/* Only while they differ from those of another node. */
static void put_settings(struct health_report *report, const struct queue *queue)
{
    struct lines lines = queue_differences(queue);
    struct buf text;
    if (!lines_are_left(&lines))
        return;
    buf_init(&text, DIFFERENT_MAX);
    while (lines_are_left(&lines)) {
        struct str name = lines_next(&lines), here = lines_next(&lines), there = lines_next(&lines);
        (void)lines_next(&lines); /* where: for operators alone */
        buf_printf(&text, "%s%.*s is %.*s here and %.*s on another node.", text.n == 0 ? "" : " ",
                   STR_ARG(name), STR_ARG(here), STR_ARG(there));
    }
    health_put(report, "settings", HEALTH_BAD, buf_str(&text));
    buf_fini(&text);
}

/* Broken when the last fetch of its keys failed. The keys at hand stay valid. */
static void put_openid(struct health_report *report, const struct oidc *oidc)
{
    struct oidc_view view = oidc_read_view(oidc);
    char details[DETAILS_MAX];
    if (!view.has_ended)
        snprintf(details, sizeof details, "Fetching its keys.");
    else if (view.key_n == 0)
        snprintf(details, sizeof details, "It returned no keys: retrying.");
    else
        snprintf(details, sizeof details, "%llu %s, fetched %llu s ago%s.",
                 COUNTED(view.key_n, "key"), (unsigned long long)view.age_s,
                 view.has_failed ? "; the last attempt failed, retrying" : "");
    health_put(report, "openid",
               view.has_failed   ? HEALTH_BAD
               : view.key_n == 0 ? HEALTH_UNKNOWN
                                 : HEALTH_GOOD,
               str_of(details));
}

/* Unhealthy: no question can be queued. Degraded: they can, but something that they need is away.
 */
static void answer_health(struct request *r, bool is_up, int status)
{
    struct services *node = r->server->services;
    int64_t polls = metrics_sum(METRIC_POLLS_PARKED);
    struct buf *b = &r->server->scratch;
    struct health_report report = {.b = b};
    char details[DETAILS_MAX];
    snprintf(details, sizeof details, "%lld parked polls on this node.", (long long)polls);
    buf_clear(b);
    buf_lit(b, "{\"dependencies\":{");
    put_redis(&report, node->queue);
    health_put(&report, "engines", polls > 0 ? HEALTH_GOOD : HEALTH_UNKNOWN, str_of(details));
    put_settings(&report, node->queue);
    services_put_health(node, &report);
    if (r->server->gate->oidc != NULL)
        put_openid(&report, r->server->gate->oidc);
    buf_printf(b, "},\"status\":\"%s\"}",
               !is_up                           ? "unhealthy"
               : polls > 0 && !report.is_broken ? "healthy"
                                                : "degraded");
    respond_json(r, status, b);
}

static bool is_up(const struct request *r)
{
    return queue_is_usable(r->server->services->queue);
}

/* Its readers take what it says from the body. And restarting a process that waits for Redis helps
 * nobody: /health/live, too, is 200 as long as it runs. */
void probes_health(struct request *r)
{
    answer_health(r, is_up(r), 200);
}

/* For probes, which read the status alone. */
void probes_api_health(struct request *r)
{
    answer_health(r, is_up(r), is_up(r) ? 200 : 503);
}

/* 503 exactly when /readyz is. */
void probes_health_ready(struct request *r)
{
    bool is_ready = is_up(r) && !r->server->is_draining;
    answer_health(r, is_ready, is_ready ? 200 : 503);
}
