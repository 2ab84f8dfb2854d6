/* SPDX-License-Identifier: MIT
 * documents.c - the life of a thread's document service. */
#include "services/documents/documents.h"

#include "services/documents/cache.h"
#include "services/documents/indexing.h"

void documents_init(struct documents *documents, const struct documents_settings *settings)
{
    documents->settings = settings;
    documents->cache = cache_create(settings->cache_bytes);
    documents->indexing = indexing_watch_create(documents->server);
    if (!settings->embedder->is_quick) {
        documents->client = http_client_create(NULL);
        http_client_attach(documents->client, documents->server->loop->h2o);
    }
}

void documents_fini(struct documents *documents)
{
    http_client_destroy(documents->client);
    cache_destroy(documents->cache);
    indexing_watch_destroy(documents->indexing);
}
