/* SPDX-License-Identifier: MIT
 * service.c - OpenAI's interface as one of the node's services (services/node/service.h). It comes
 * with the broker, whose queue it is. */
#include "services/openai/leaving.h"

#include "shared/base/mem.h"

static void *create(struct server *server, struct queue *queue, const void *settings)
{
    struct openai *openai = mem_zeroed(sizeof *openai);
    openai->server = server;
    openai->queue = queue;
    return openai;
}

static void end(void *state)
{
    leaving_fini(state);
}

static void destroy(void *state)
{
    leaving_fini(state); /* of requests that went with the loop */
    free(state);
}

const struct service openai_service = {
    .name = "openai",
    .summary = "OpenAI's interface: /v1",
    .comes_with = "broker",
    .routes = openai_routes,
    .create = create,
    .end = end,
    .destroy = destroy,
};
