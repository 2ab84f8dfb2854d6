/* SPDX-License-Identifier: MIT
 * documents.c - the service's life, one per thread.
 *
 * At the end of a node retrievals may still be under way whose requests wait for them: they are
 * ended first, so that those are answered, and then nothing is left that would call back. */
#include "services/documents/documents.h"

#include "services/documents/library/indexing.h"
#include "services/documents/search/cache.h"
#include "services/documents/search/retrieve.h"

#include <stdio.h>
#include <stdlib.h>

struct documents *documents_create(struct server *server, struct queue *queue,
                                   const struct documents_settings *settings)
{
    struct documents *documents = calloc(1, sizeof *documents);
    if (documents == NULL)
        abort();
    *documents = (struct documents){.server = server, .queue = queue, .settings = settings};
    documents->cache = cache_create(server->turn, server->metrics, settings->cache_max_bytes);
    documents->indexing = indexing_create(documents);
    if (!settings->embedder->is_quick) {
        documents->client = http_client_create(NULL);
        http_client_attach(documents->client, server->loop->h2o);
    }
    return documents;
}

void documents_destroy(struct documents *documents)
{
    if (documents == NULL)
        return;
    retrieve_end_all(documents);
    indexing_destroy(documents->indexing);
    http_client_destroy(documents->client);
    cache_destroy(documents->cache);
    free(documents);
}

bool documents_on_event(struct documents *documents, struct str kind, struct lines *rest)
{
    if (!str_eq(kind, STR("indexing")))
        return false;
    indexing_on_event(documents->indexing, rest);
    return true;
}

void documents_drain(struct documents *documents)
{
    if (documents != NULL)
        presences_drain(&documents->waiting);
}

static void on_vectors(struct turn_call *call, enum err error, struct str reply)
{
    struct documents *documents = H2O_STRUCT_FROM_MEMBER(struct documents, vectors_call, call);
    documents->is_asking_vectors = false;
    if (error == ERR_OK)
        documents->vectors = str_eq(reply, STR("set")) ? HEALTH_GOOD : HEALTH_BAD;
}

static void put_health(struct buf *b, const char *name, enum health health, const char *details)
{
    static const char *const words[] = {
        [HEALTH_UNKNOWN] = "configured", [HEALTH_GOOD] = "connected", [HEALTH_BAD] = "error"};
    buf_printf(b, "\"%s\":{\"status\":\"%s\",\"details\":", name, words[health]);
    buf_put_json(b, str_of(details));
    buf_put_char(b, '}');
}

bool documents_put_health(struct documents *documents, struct buf *b)
{
    const struct documents_settings *settings = documents->settings;
    bool is_exact = strcmp(settings->vectors, "exact") == 0;
    bool is_set = strcmp(settings->vectors, "set") == 0;
    enum health embeddings = documents->embeddings, vectors = documents->vectors;
    char details[256];
    snprintf(details, sizeof details, "Model %s%s.", settings->embedder->name,
             settings->embedder->is_quick   ? ", built in"
             : embeddings == HEALTH_BAD     ? ": its server failed, words alone are searched"
             : embeddings == HEALTH_UNKNOWN ? ": its server was not asked yet"
                                            : "");
    put_health(b, "embeddings", settings->embedder->is_quick ? HEALTH_GOOD : embeddings, details);
    buf_put_char(b, ',');
    bool is_missing = is_set && vectors == HEALTH_BAD;
    if (is_missing)
        put_health(b, "vectors", HEALTH_BAD, "Redis knows no vector sets, and --vectors is set.");
    else if (is_exact || vectors == HEALTH_BAD)
        put_health(b, "vectors", HEALTH_GOOD, "Exact search in the nodes.");
    else
        put_health(b, "vectors", vectors, "Vector sets in Redis.");
    return embeddings != HEALTH_BAD && !is_missing;
}

void documents_on_up(struct documents *documents)
{
    struct turn *turn = documents->server->turn;
    if (!documents->is_asking_vectors) {
        documents->is_asking_vectors = true;
        documents->vectors_call.on_reply = on_vectors;
        turn_begin_plain(turn, &documents->vectors_call, LANE_READ, STR("vectors"));
        turn_end(turn);
    }
    indexing_on_up(documents->indexing);
}
