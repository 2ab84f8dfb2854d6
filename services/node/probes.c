/* SPDX-License-Identifier: MIT
 * probes.c - what load balancers, orchestrators and Prometheus ask. Node-local facts only: a probe
 * costs Redis nothing. */
#include "services/node/probes.h"

#include "services/documents/documents.h"
#include "shared/http/oidc.h"
#include "shared/http/respond.h"
#include "shared/redis/durability.h"

#include <stdio.h>

static void live(struct request *r)
{
    respond_json_fixed(r, 200, STR("{\"status\":\"alive\"}"));
}

static void ready(struct request *r)
{
    enum redis_trouble trouble = queue_trouble(services_of(r)->queue);
    if (r->server->is_draining)
        respond_error(r, ERR_DRAINING, NULL);
    else if (redis_trouble_is_outage(trouble))
        respond_error(r, redis_trouble_info(trouble)->error, redis_trouble_info(trouble)->text);
    else
        respond_json_fixed(r, 200,
                           trouble == REDIS_FULL ? STR("{\"full\":true,\"status\":\"ready\"}")
                                                 : STR("{\"status\":\"ready\"}"));
}

static void put_dependency(struct buf *b, const char *name, const char *status, const char *details)
{
    buf_printf(b, "\"%s\":{\"status\":\"%s\",\"details\":\"%s\"}", name, status, details);
}

static void put_redis(struct buf *b, struct queue *queue, enum redis_trouble trouble)
{
    const char *text = redis_trouble_info(trouble)->text;
    buf_printf(b, "\"redis\":{\"status\":\"%s\",\"details\":\"%s",
               trouble == REDIS_FINE ? "connected" : "error",
               trouble == REDIS_FINE ? "Both connections stand." : text);
    durability_put(b, turn_warnings(queue_turn(queue)));
    buf_lit(b, "\"}");
}

/* False when the last fetch of its keys failed. Keys that are there go on all the same. */
static bool put_openid(struct buf *b, const struct oidc *oidc)
{
    struct oidc_view view = oidc_look(oidc);
    char details[128];
    if (!view.has_ended)
        snprintf(details, sizeof details, "Its keys are being fetched.");
    else if (view.key_n == 0)
        snprintf(details, sizeof details, "It gave no keys: trying again.");
    else
        snprintf(details, sizeof details, "%zu keys, fetched %llu s ago%s.", view.key_n,
                 (unsigned long long)view.age_s,
                 view.has_failed ? "; the last try failed, and they go on" : "");
    put_dependency(b, "openid",
                   view.has_failed   ? "error"
                   : view.key_n == 0 ? "configured"
                                     : "connected",
                   details);
    return !view.has_failed;
}

/* Unhealthy: no question can be queued. Degraded: they can, but something that they need is away.
 */
static void health(struct request *r)
{
    struct documents *documents = services_of(r)->documents;
    enum redis_trouble trouble = queue_trouble(services_of(r)->queue);
    bool is_up = !redis_trouble_is_outage(trouble), is_whole = trouble == REDIS_FINE;
    int64_t polls = metrics_sum(METRIC_POLLS_PARKED);
    struct buf *b = &r->server->scratch;
    char details[64];
    snprintf(details, sizeof details, "%lld polls are parked here.", (long long)polls);
    buf_clear(b);
    buf_lit(b, "{\"dependencies\":{");
    put_redis(b, services_of(r)->queue, trouble);
    buf_put_char(b, ',');
    put_dependency(b, "engines", polls > 0 ? "connected" : "configured", details);
    if (documents != NULL) {
        buf_put_char(b, ',');
        is_whole = documents_put_health(documents, b) && is_whole;
    }
    if (r->server->gate.oidc != NULL) {
        buf_put_char(b, ',');
        is_whole = put_openid(b, r->server->gate.oidc) && is_whole;
    }
    buf_printf(b, "},\"status\":\"%s\"}",
               !is_up                  ? "unhealthy"
               : polls > 0 && is_whole ? "healthy"
                                       : "degraded");
    respond_json(r, is_up ? 200 : 503, b);
}

static void metrics(struct request *r)
{
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    metrics_write(b);
    respond_text(r, 200, "text/plain; version=0.0.4; charset=utf-8", b);
}

const struct route probe_routes[] = {
    {"GET", "/livez", ROLES_NONE, live, false},
    {"GET", "/healthz", ROLES_NONE, live, false},
    {"GET", "/api/health", ROLES_NONE, health, false},
    {"GET", "/readyz", ROLES_NONE, ready, false},
    {"GET", "/health", ROLES_NONE, health, false},
    {"GET", "/metrics", ROLES_NONE, metrics, false},
    {0},
};
