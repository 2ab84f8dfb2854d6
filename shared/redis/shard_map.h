/* SPDX-License-Identifier: MIT
 *
 * shard_map: where a cluster's keys are: the number of shards, the key prefix and server of each,
 * and the shard of a name (ADR 24). Plain data, immutable after `is_agreed`, and
 * pure functions: any thread. A name's shard is the same on every node and in every version.
 */
#ifndef PARLEY_REDIS_SHARD_MAP_H
#define PARLEY_REDIS_SHARD_MAP_H

#include "shared/redis/address.h"

enum { SHARDS_MAX = 64, SHARD_BASE_MAX_BYTES = 64, SHARD_PREFIX_BYTES = SHARD_BASE_MAX_BYTES + 8 };

enum { CLUSTER_ID_BYTES = 16 };

struct shard_map {
    unsigned n;      /* shards: a power of two, up to SHARDS_MAX */
    bool is_n_given; /* by --shards: the cluster must have that number */
    /* The servers are one Redis Cluster. Each shard, which has one slot, then counts as a server of
     * its own: it may be away, moved or emptied while the others work. So server_n is n. */
    bool is_cluster;
    unsigned server_n;             /* 1, or that of shards */
    char id[CLUSTER_ID_BYTES + 1]; /* the cluster's, once it is agreed on */
    /* The servers agree (agreement.h), so connections may be used. */
    _Atomic bool is_agreed;
    struct redis_address servers[SHARDS_MAX];
    char base[SHARD_BASE_MAX_BYTES + 1];           /* as given: "parley:" */
    char prefixes[SHARDS_MAX][SHARD_PREFIX_BYTES]; /* "parley:{0}:", ends with a NUL */
};

/* The shard of a name (buf_put_name) in a cluster of `n` shards. */
unsigned shard_of(struct str name, unsigned n);

/* Writes the prefixes of `n` shards. `base` is the part before the hash tag, or the whole prefix of
 * shard 0: "parley:" and "parley:{0}:" are equivalent. Returns false with a human-readable reason
 * if `n` is not a power of two up to SHARDS_MAX, or `base` is too long or has a hash tag that other
 * shards could not share. Servers are untouched, except those of a Redis Cluster, which become as
 * many as shards, with the slot of each. */
bool shard_map_name(struct shard_map *map, struct str base, unsigned n,
                    const char **ret_reason) must_check;

/* The common prefix of the keys of all shards: "parley:{", or its only prefix. */
struct str shard_map_stem(const struct shard_map *map);

static inline const struct redis_address *shard_server(const struct shard_map *map, unsigned shard)
{
    return &map->servers[shard % map->server_n];
}

#endif
