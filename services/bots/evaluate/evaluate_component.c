/* SPDX-License-Identifier: MIT
 * evaluate_component.c - evaluations in the life of a node (services/bots/bots.h). */
#include "services/bots/evaluate/evaluate.h"
#include "services/bots/evaluate/evaluation.h"
#include "shared/base/mem.h"
#include "shared/http/client/client.h"

static void begin(struct evaluation *e)
{
    if (e->talk.message_n > 0)
        evaluation_attempt(e);
    else
        evaluation_load(e);
}

static void create(struct bots *bots)
{
    struct evaluations *all = mem_zeroed(sizeof *all);
    all->bots = bots;
    all->begin = begin;
    all->turns = fair_slots_create(&(struct fair_slots_config){
        .slot_n = EVALUATIONS_MAX, .waiting_max = EVALUATIONS_WAITING_MAX});
    if (!bots->settings->embedder->is_quick) {
        all->client = http_client_create(NULL);
        http_client_attach(all->client, bots->server->loop);
    }
    bots->evaluations = all;
    leases_init(&all->leases, &evaluation_leases, bots->server->loop, bots->server->shards,
                &bots->server->is_draining);
}

/* Others take its runs when their fences end. */
static void end(struct bots *bots)
{
    bots->evaluations->is_filling = true; /* nothing begins any more */
    leases_fini(&bots->evaluations->leases);
}

static void destroy(struct bots *bots)
{
    http_client_destroy(bots->evaluations->client);
    fair_slots_destroy(bots->evaluations->turns);
    free(bots->evaluations);
    bots->evaluations = NULL;
}

struct http_client *evaluate_client(const struct bots *bots)
{
    return bots->evaluations->client;
}

static void on_up(struct bots *bots, unsigned shard)
{
    leases_on_up(&bots->evaluations->leases, shard);
}

static void before_flush(struct bots *bots)
{
    leases_before_flush(&bots->evaluations->leases);
}

static void drain(struct bots *bots)
{
    leases_drain(&bots->evaluations->leases);
}

const struct bots_component evaluate_component = {
    .create = create,
    .end = end,
    .destroy = destroy,
    .on_up = on_up,
    .before_flush = before_flush,
    .drain = drain,
    .put_metrics = evaluation_put_metrics,
};
