/* SPDX-License-Identifier: MIT
 *
 * cache: search indexes of spaces, as they were found in Redis: one per thread, used on its thread
 * only. A space's index is brought up to a version by fetching the packs that are new in it
 * (lua/documents/packs.lua). Past its size the cache drops the spaces that were searched longest
 * ago; those in use stay, however large.
 *
 * Nothing of a space is ever put into another one's index: a space is fetched, kept and found under
 * its own name.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_SEARCH_CACHE_H
#define PARLEY_SERVICES_DOCUMENTS_SEARCH_CACHE_H

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

/* The space's place in the cache, made when it is new; it is in use until cache_leave. */
struct cache_space *cache_enter(struct cache *cache, struct str space) must_check;
/* Accepts NULL. */
void cache_leave(struct cache *cache, struct cache_space *space);

/* The version that the index is of; n == 0: none yet. */
struct str cache_version(const struct cache_space *space);
const struct rag_index *cache_index(const struct cache_space *space);

/* Waits for a load. Lives in its owner. */
struct cache_wait {
    struct cache_wait *next;
    struct cache_space *space; /* NULL: not waiting */
    /* Runs once, never before cache_load returns. ERR_OK: the index is of the version that was
     * asked for, or a newer one. ERR_CONFLICT: of an older one: look again. Else what failed. */
    void (*on_loaded)(struct cache_wait *wait, enum err error);
    uint64_t version;
};

/* Brings the index to `version`, whose documents `list` names: lines "<doc> <generation>". True
 * when that took nothing to be fetched; otherwise `wait` hears of it. When the index is being
 * loaded already, waits for that. */
bool cache_load(struct cache *cache, struct cache_space *space, uint64_t version, struct str list,
                struct cache_wait *wait) must_check;
/* No callback any more; the load goes on for others. Nothing happens when it does not wait. */
void cache_stop_waiting(struct cache_wait *wait);

#endif
