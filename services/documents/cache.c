/* SPDX-License-Identifier: MIT
 * cache.c - see cache.h. A list in the order of use: a thread serves few spaces at a time, and a
 * walk over thousands of names costs less than one round trip. */
#include "services/documents/cache.h"

#include <stdlib.h>

enum { SPACES_MAX = 4096 };

struct pack_cache {
    struct cached_space *first; /* used last */
    size_t max_bytes;
};

struct pack_cache *cache_create(size_t max_bytes)
{
    struct pack_cache *cache = calloc(1, sizeof *cache);
    if (cache == NULL)
        abort();
    cache->max_bytes = max_bytes;
    return cache;
}

static void free_space(struct cached_space *space)
{
    rag_index_destroy(space->index);
    free(space->name);
    free(space);
}

void cache_destroy(struct pack_cache *cache)
{
    if (cache == NULL)
        return;
    while (cache->first != NULL) {
        struct cached_space *space = cache->first;
        cache->first = space->next;
        free_space(space);
    }
    free(cache);
}

/* Lets go of what is past the size, but never of the first. */
static void shrink(struct pack_cache *cache)
{
    size_t bytes = 0;
    unsigned n = 0;
    for (struct cached_space **link = &cache->first; *link != NULL;) {
        struct cached_space *space = *link;
        bytes += rag_index_bytes(space->index);
        n++;
        if (n > 1 && (bytes > cache->max_bytes || n > SPACES_MAX)) {
            bytes -= rag_index_bytes(space->index);
            *link = space->next;
            free_space(space);
        } else {
            link = &space->next;
        }
    }
}

struct cached_space *cache_use(struct pack_cache *cache, struct str name)
{
    struct cached_space **link = &cache->first, *space;
    while ((space = *link) != NULL && !str_eq((struct str){space->name, space->name_n}, name))
        link = &space->next;
    if (space != NULL) {
        *link = space->next;
    } else {
        space = calloc(1, sizeof *space);
        if (space == NULL || (space->name = malloc(name.n + 1)) == NULL)
            abort();
        memcpy(space->name, name.at, name.n);
        space->name_n = name.n;
        space->index = rag_index_create();
    }
    space->next = cache->first;
    cache->first = space;
    shrink(cache);
    return space;
}

size_t cache_bytes(const struct pack_cache *cache)
{
    size_t bytes = 0;
    for (const struct cached_space *space = cache->first; space != NULL; space = space->next)
        bytes += rag_index_bytes(space->index);
    return bytes;
}
