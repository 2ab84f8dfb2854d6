/* SPDX-License-Identifier: MIT
 * service.c - rooms and bots as one of the node's services (services/node/service.h): its options,
 * its life in a process and in a node. */
#include "generated/routes_bots.h"
#include "services/bots/bots.h"
#include "shared/base/mem.h"
#include "shared/embed/embed_options.h"
#include "shared/http/client/client.h"
#include "shared/http/client/endpoint_options.h"

static bool read_settings(const struct service_process *process, void **ret_settings)
{
    struct embedder *embedder = embed_read_options(process->config);
    if (embedder == NULL)
        return false;
    struct bots_settings *settings = mem_zeroed(sizeof *settings);
    *settings = (struct bots_settings){
        .map = process->map,
        .config = process->config,
        .is_private_allowed = endpoint_options_allow_private(process->config),
        .embedder = embedder,
    };
    *ret_settings = settings;
    return true;
}

static void free_settings(void *context)
{
    struct bots_settings *settings = context;
    embed_destroy(settings->embedder);
    free(settings);
}

static void *create(struct server *server, struct queue *queue, const void *context)
{
    const struct bots_settings *settings = context;
    const struct http_client_settings outside = {.user_agent = "parley/" PARLEY_VERSION,
                                                 .is_refusing_private =
                                                     !settings->is_private_allowed};
    struct bots *bots = mem_zeroed(sizeof *bots);
    *bots = (struct bots){.server = server,
                          .queue = queue,
                          .settings = settings,
                          .components = bots_components,
                          .client = http_client_create(&outside)};
    http_client_attach(bots->client, server->loop);
    for (const struct bots_component *const *component = bots_components; *component != NULL;
         component++)
        if ((*component)->create != NULL)
            (*component)->create(bots);
    return bots;
}

static size_t count_parts(void)
{
    size_t n = 0;
    while (bots_components[n] != NULL)
        n++;
    return n;
}

/* The last component first: each uses those before it. */
static void end(void *state)
{
    for (size_t i = count_parts(); i-- > 0;)
        if (bots_components[i]->end != NULL)
            bots_components[i]->end(state);
}

static void destroy(void *state)
{
    struct bots *bots = state;
    for (size_t i = count_parts(); i-- > 0;)
        if (bots_components[i]->destroy != NULL)
            bots_components[i]->destroy(bots);
    http_client_destroy(bots->client);
    free(bots);
}

static void on_event(void *state, struct str kind, struct lines *rest)
{
    for (const struct bots_component *const *component = bots_components; *component != NULL;
         component++)
        if ((*component)->event != NULL && str_eq(str_of((*component)->event), kind))
            (*component)->on_event(state, rest);
}

static void on_up(void *state, unsigned shard)
{
    for (const struct bots_component *const *component = bots_components; *component != NULL;
         component++)
        if ((*component)->on_up != NULL)
            (*component)->on_up(state, shard);
}

static void before_flush(void *state)
{
    for (const struct bots_component *const *component = bots_components; *component != NULL;
         component++)
        if ((*component)->before_flush != NULL)
            (*component)->before_flush(state);
}

static void drain(void *state)
{
    for (const struct bots_component *const *component = bots_components; *component != NULL;
         component++)
        if ((*component)->drain != NULL)
            (*component)->drain(state);
}

static void put_metrics(struct buf *b)
{
    for (const struct bots_component *const *component = bots_components; *component != NULL;
         component++)
        if ((*component)->put_metrics != NULL)
            (*component)->put_metrics(b);
}

static void put_health(void *state, struct health_report *report)
{
    for (const struct bots_component *const *component = bots_components; *component != NULL;
         component++)
        if ((*component)->put_health != NULL)
            (*component)->put_health(state, report);
}

const struct service bots_service = {
    .name = "bots",
    .summary = "rooms, bots that answer in them, and their evaluation",
    .groups = (const struct config_group *const[]){&endpoint_options, &embed_options, NULL},
    .routes = bots_routes,
    .events = (const char *const[]){"room", "delivery", NULL},
    .read = read_settings,
    .free_settings = free_settings,
    .put_metrics = put_metrics,
    .create = create,
    .end = end,
    .destroy = destroy,
    .on_event = on_event,
    .on_up = on_up,
    .before_flush = before_flush,
    .drain = drain,
    .put_health = put_health,
};
