/* SPDX-License-Identifier: MIT
 * probes.c - what load balancers, orchestrators and Prometheus ask. Node-local facts only: a probe
 * costs Redis nothing. */
#include "services/probes.h"

#include "services/documents/documents.h"
#include "shared/http/oidc.h"
#include "shared/http/respond.h"

#include <stdio.h>

static void live(struct request *r)
{
    respond_json_fixed(r, 200, STR("{\"status\":\"alive\"}"));
}

static void ready(struct request *r)
{
    if (r->server->is_draining)
        respond_error(r, ERR_DRAINING, NULL);
    else if (!queue_is_up(services_of(r)->queue))
        respond_error(r, ERR_REDIS_LOST, NULL);
    else
        respond_json_fixed(r, 200, STR("{\"status\":\"ready\"}"));
}

static void put_dependency(struct buf *b, const char *name, const char *status, const char *details)
{
    buf_printf(b, "\"%s\":{\"status\":\"%s\",\"details\":\"%s\"}", name, status, details);
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
    bool is_up = queue_is_up(services_of(r)->queue), is_whole = true;
    int64_t polls = metrics_sum(METRIC_POLLS_PARKED);
    struct buf *b = &r->server->scratch;
    char details[64];
    snprintf(details, sizeof details, "%lld polls are parked here.", (long long)polls);
    buf_clear(b);
    buf_lit(b, "{\"dependencies\":{");
    put_dependency(b, "redis", is_up ? "connected" : "error",
                   is_up ? "Both connections stand." : "Not connected: trying again.");
    buf_put_char(b, ',');
    put_dependency(b, "engines", polls > 0 ? "connected" : "configured", details);
    if (documents != NULL) {
        buf_put_char(b, ',');
        is_whole = documents_put_health(documents, b);
    }
    if (r->server->oidc != NULL) {
        buf_put_char(b, ',');
        is_whole = put_openid(b, r->server->oidc) && is_whole;
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
