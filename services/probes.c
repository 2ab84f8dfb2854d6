/* SPDX-License-Identifier: MIT
 * probes.c - what load balancers, orchestrators and Prometheus ask. Node-local facts only: a probe
 * costs Redis nothing. */
#include "services/probes.h"

#include "services/broker/broker.h"

static void live(struct request *r)
{
    respond_json(r, 200, STR("{\"status\":\"alive\"}"));
}

static void ready(struct request *r)
{
    if (r->server->is_draining)
        respond_error(r, ERR_DRAINING, NULL);
    else if (!queue_is_up(broker_of(r)->queue))
        respond_error(r, ERR_REDIS_LOST, NULL);
    else
        respond_json(r, 200, STR("{\"status\":\"ready\"}"));
}

static void health(struct request *r)
{
    bool is_up = queue_is_up(broker_of(r)->queue);
    int64_t polls = metrics_sum(METRIC_POLLS_PARKED);
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_printf(
        b, "{\"status\":\"%s\",\"dependencies\":{\"redis\":{\"status\":\"%s\",\"details\":\"%s\"},",
        !is_up       ? "unhealthy"
        : polls == 0 ? "degraded"
                     : "healthy",
        is_up ? "connected" : "error",
        is_up ? "Both connections stand." : "Not connected: trying again.");
    buf_printf(b, "\"engines\":{\"status\":\"%s\",\"details\":\"%lld polls are parked here.\"}}}",
               polls > 0 ? "connected" : "configured", (long long)polls);
    respond_json(r, is_up ? 200 : 503, buf_str(b));
}

static void metrics(struct request *r)
{
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    metrics_write(b);
    respond_text(r, 200, "text/plain; version=0.0.4; charset=utf-8", buf_str(b));
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
