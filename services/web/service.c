/* SPDX-License-Identifier: MIT
 * service.c - the web service as one of the node's services (services/node/service.h). It comes
 * with the document service, since the sources that POST /ask names over the handbook lead here,
 * and with the broker, so that a browser at the address of a node shows what it is. */
#include "services/web/web.h"

#include "services/node/service.h"
#include "shared/base/mem.h"

static void *create(struct server *server, struct queue *queue, const void *settings)
{
    struct web *web = mem_zeroed(sizeof *web);
    (void)server, (void)queue, (void)settings;
    return web;
}

const struct service web_service = {
    .name = "web",
    .summary = "the first page, the handbook and openapi.yaml",
    .comes_with = "broker,documents",
    .routes = web_routes,
    .create = create,
    .destroy = free,
    .put_metrics = web_put_violations,
};
