/* SPDX-License-Identifier: MIT
 * service.c - the broker as one of the node's services (services/node/service.h). */
#include "services/broker/handlers.h"

#include "services/broker/token_counts.h"
#include "shared/base/mem.h"

static void *create(struct server *server, struct queue *queue, const void *settings)
{
    struct broker *broker = mem_zeroed(sizeof *broker);
    *broker = (struct broker){.server = server, .queue = queue, .searches = searches_turns()};
    return broker;
}

/* No request is left. */
static void destroy(void *state)
{
    struct broker *broker = state;
    fair_slots_destroy(broker->searches);
    free(broker);
}

const struct service broker_service = {
    .name = "broker",
    .summary = "the queue: topics, queries, claims, answers",
    .routes = broker_routes,
    .create = create,
    .destroy = destroy,
    .drain = broker_drain,
    .put_metrics = token_counts_put,
};
