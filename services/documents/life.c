/* SPDX-License-Identifier: MIT
 * life.c - the service's life, one per thread (documents.h).
 *
 * When a node ends, requests may still wait for running retrievals: these are ended first, so that
 * the requests are answered and no callback is left. */
#include "services/documents/documents.h"

#include "generated/verbs.h"
#include "services/documents/library/indexing.h"
#include "services/documents/search/cache.h"
#include "services/documents/search/retrieve_op.h"
#include "shared/base/mem.h"

#include <stdio.h>

void *documents_create(struct server *server, struct queue *queue, const void *data)
{
    const struct documents_settings *settings = data;
    struct documents *documents = mem_zeroed(sizeof *documents);
    *documents = (struct documents){.server = server, .queue = queue, .settings = settings};
    documents->cache = cache_create(server->shards, server->metrics, settings->cache_max_bytes);
    documents->searches = retrieve_turns();
    documents->indexing = indexing_create(documents);
    for (unsigned i = 0; i < settings->map->server_n; i++)
        documents->blocks[i] = blocks_create(server->loop, &settings->map->servers[i]);
    if (!settings->embedder->is_quick) {
        documents->client = http_client_create(NULL);
        http_client_attach(documents->client, server->loop);
    }
    return documents;
}

void documents_destroy(void *state)
{
    struct documents *documents = state;
    if (documents == NULL)
        return;
    retrieve_end_all(documents);
    for (unsigned i = 0; i < documents->settings->map->server_n; i++)
        blocks_destroy(documents->blocks[i]);
    call_detach(&documents->vectors_call);
    indexing_destroy(documents->indexing);
    fair_slots_destroy(documents->searches);
    http_client_destroy(documents->client);
    cache_destroy(documents->cache);
    free(documents);
}

static unsigned shard_of_space(const struct documents *documents, struct str space)
{
    return shard_of(space, documents->settings->map->n);
}

struct blocks *documents_blocks(const struct documents *documents, struct str space)
{
    const struct shard_map *map = documents->settings->map;
    return documents->blocks[shard_of_space(documents, space) % map->server_n];
}

const char *documents_prefix(const struct documents *documents, struct str space)
{
    return documents->settings->map->prefixes[shard_of_space(documents, space)];
}

void documents_on_event(void *state, struct str kind, struct lines *rest)
{
    struct documents *documents = state;
    (void)kind; /* there is one */
    indexing_on_event(documents->indexing, rest);
}

void documents_drain(void *state)
{
    struct documents *documents = state;
    presences_drain(&documents->waiting);
}

static void on_vectors(struct call *call, enum err error, struct str reply)
{
    struct documents *documents = container_of(call, struct documents, vectors_call);
    if (error == ERR_OK)
        documents->vectors = str_eq(reply, STR("set")) ? HEALTH_GOOD : HEALTH_BAD;
}

void documents_put_health(void *state, struct health_report *report)
{
    const struct documents *documents = state;
    const struct documents_settings *settings = documents->settings;
    enum vectors_mode mode = settings->space.vectors;
    enum health embeddings = documents->embeddings, vectors = documents->vectors;
    char details[256];
    snprintf(details, sizeof details, "Model %s%s.", settings->embedder->name,
             settings->embedder->is_quick   ? ", built in"
             : embeddings == HEALTH_BAD     ? ": its server failed; search uses words only"
             : embeddings == HEALTH_UNKNOWN ? ": its server has not been used yet"
                                            : "");
    health_put(report, "embeddings", settings->embedder->is_quick ? HEALTH_GOOD : embeddings,
               str_of(details));
    if (mode == VECTORS_SET && vectors == HEALTH_BAD)
        health_put(report, "vectors", HEALTH_BAD,
                   STR("--vectors is set, but this Redis does not support vector sets."));
    else if (mode == VECTORS_EXACT || vectors == HEALTH_BAD)
        health_put(report, "vectors", HEALTH_GOOD, STR("Exact search in the nodes."));
    else
        health_put(report, "vectors", vectors, STR("Vector sets in Redis."));
}

void documents_on_up(void *state, unsigned shard)
{
    struct documents *documents = state;
    struct turn *turn = shards_cluster(documents->server->shards);
    if (!call_is_under_way(&documents->vectors_call))
        call_vectors(turn_call(turn, &documents->vectors_call, on_vectors));
    indexing_on_up(documents->indexing, shard);
}
