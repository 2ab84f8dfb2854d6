/* SPDX-License-Identifier: MIT
 *
 * cache: keeps the search indexes of spaces, loaded from Redis. One per thread, used on that thread
 * only. To bring a space's index up to a version, the cache fetches the packs that are new in it
 * (lua/documents/packs.lua). When the cache exceeds its size, it drops the least recently searched
 * spaces; spaces in use stay, whatever their size.
 *
 * Data of one space never enters the index of another: a space is fetched, kept and looked up under
 * its own name.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_SEARCH_CACHE_H
#define PARLEY_SERVICES_DOCUMENTS_SEARCH_CACHE_H

#include "shared/base/list.h"
#include "shared/metrics/metrics.h"
#include "shared/redis/shards.h"
#include "shared/search/index.h"

struct cache;
struct cache_space;

/* `shards` and `metrics` are borrowed. */
struct cache *cache_create(struct shards *shards, struct metrics *metrics,
                           uint64_t max_bytes) must_check;
/* No space may be in use or loading. Accepts NULL. */
void cache_destroy(struct cache *cache);

/* Returns the space's entry, and creates it if it is new. It is in use until cache_leave. */
struct cache_space *cache_enter(struct cache *cache, struct str space) must_check;
/* Accepts NULL. */
void cache_leave(struct cache *cache, struct cache_space *space);

/* Returns the version of the index; n == 0: there is none yet. */
struct str cache_version(const struct cache_space *space);
const struct rag_index *cache_index(const struct cache_space *space);

/* A wait for a load. Embedded in its owner. */
struct cache_wait {
    struct list_link link; /* linked: it waits */
    /* Runs once, never before cache_load returns. ERR_OK: the index has the requested version or a
     * newer one. ERR_CONFLICT: it has an older one; search again. Otherwise what failed. */
    void (*on_loaded)(struct cache_wait *wait, enum err error);
    uint64_t version;
};

/* Brings the index up to `version`, whose documents `list` names in lines "<doc> <generation>".
 * Returns true when there was nothing to fetch; otherwise `wait` is notified later. When a load of
 * this index is already under way, waits for that one. */
bool cache_load(struct cache *cache, struct cache_space *space, uint64_t version, struct str list,
                struct cache_wait *wait) must_check;
/* Stops waiting, without a callback; the load continues for others. Does nothing if `wait` is not
 * waiting. */
void cache_stop_waiting(struct cache_wait *wait);

#endif
