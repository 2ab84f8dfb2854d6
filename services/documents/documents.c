/* SPDX-License-Identifier: MIT
 * documents.c - the service's life, one per thread.
 *
 * At the end of a node retrievals may still be under way whose requests wait for them: they are
 * ended first, so that those are answered, and then nothing is left that would call back. */
#include "services/documents/documents.h"

#include "services/documents/cache.h"
#include "services/documents/indexing.h"
#include "services/documents/retrieve.h"

#include <stdlib.h>

struct documents *documents_create(struct server *server, struct queue *queue,
                                   const struct documents_settings *settings)
{
    struct documents *documents = calloc(1, sizeof *documents);
    if (documents == NULL)
        abort();
    *documents = (struct documents){.server = server, .queue = queue, .settings = settings};
    documents->cache = cache_create(server->turn, settings->cache_max_bytes);
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

void documents_on_up(struct documents *documents)
{
    indexing_on_up(documents->indexing);
}
