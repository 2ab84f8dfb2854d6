/* SPDX-License-Identifier: MIT
 * service.c - OpenAI's interface as one of the node's services (services/node/service.h). It comes
 * with the broker, whose queue it is. */
#include "services/openai/batches/batches.h"
#include "services/openai/batches/feeder.h"
#include "services/openai/files/files.h"
#include "services/openai/owed.h"
#include "services/openai/responses/keeper.h"

#include "shared/base/mem.h"

static const struct config_group options = {
    "OpenAI's interface",
    (const struct config_option[]){
        OPTION_NUMBER("openai-body-mib", "N", "4", 1, OPENAI_BODY_MOST_MIB,
                      "Maximum size of a request at /v1, in MiB; longer ones get 413. At most 4, "
                      "since its engine gets it as one message, escaped as JSON once more, which "
                      "engines of any version must be able to read."),
        {0}}};

static bool read_settings(const struct service_process *process, void **ret_settings)
{
    openai_body_bytes = config_number(process->config, "openai-body-mib") << 20;
    /* Cast away `const`: nobody writes it. */
    *ret_settings = (void *)process->map;
    return true;
}

static void *create(struct server *server, struct queue *queue, const void *settings)
{
    struct openai *openai = mem_zeroed(sizeof *openai);
    openai->server = server;
    openai->queue = queue;
    openai->file_ways = file_ways_create(server->loop, settings);
    openai->batches = batches_create(openai);
    return openai;
}

static void end(void *state)
{
    struct openai *openai = state;
    batches_destroy(openai->batches);
    openai->batches = NULL;
    openai->has_ended = true;
    owed_fini(openai);
    keepers_fini(openai);
}

static void on_event(void *state, struct str kind, struct lines *rest)
{
    const struct openai *openai = state;
    (void)kind; /* there is one */
    batches_on_event(openai->batches, rest);
}

static void on_up(void *state, unsigned shard)
{
    const struct openai *openai = state;
    batches_on_up(openai->batches, shard);
}

static void before_flush(void *state)
{
    const struct openai *openai = state;
    leases_before_flush(&openai->batches->leases);
}

static void drain(void *state)
{
    const struct openai *openai = state;
    leases_drain(&openai->batches->leases);
}

static void destroy(void *state)
{
    struct openai *openai = state;
    owed_fini(openai); /* of requests that went with the loop */
    file_ways_destroy(openai->file_ways);
    free(openai);
}

const struct service openai_service = {
    .name = "openai",
    .summary = "OpenAI's interface: /v1",
    .comes_with = "broker",
    .groups = (const struct config_group *const[]){&options, NULL},
    .routes = openai_routes,
    .events = (const char *const[]){"batch", NULL},
    .read = read_settings,
    .create = create,
    .end = end,
    .destroy = destroy,
    .put_metrics = feeder_put_metrics,
    .on_event = on_event,
    .on_up = on_up,
    .before_flush = before_flush,
    .drain = drain,
};
