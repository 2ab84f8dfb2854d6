/* SPDX-License-Identifier: MIT
 *
 * cache: the packs of the spaces that were searched lately, one cache per thread. It may be lost at
 * any moment: what is there is compared with the space's version at every search. Past its size the
 * spaces that were not searched for longest go; the one being searched stays, however large.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_CACHE_H
#define PARLEY_SERVICES_DOCUMENTS_CACHE_H

#include "shared/base/str.h"
#include "shared/rag/index.h"

struct pack_cache;

struct cached_space {
    struct cached_space *next; /* the one that was used before this one */
    char *name;
    size_t name_n;
    uint64_t version; /* of what `index` holds; 0: nothing yet */
    struct rag_index *index;
};

struct pack_cache *cache_create(size_t max_bytes) must_check;
/* Accepts NULL. */
void cache_destroy(struct pack_cache *cache);
/* The space, which is the one used last then; made empty when it is not there. The pointer is valid
 * until the next call. */
struct cached_space *cache_use(struct pack_cache *cache, struct str space);
/* Bytes of all packs. */
size_t cache_bytes(const struct pack_cache *cache);

#endif
