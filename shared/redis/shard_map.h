/* SPDX-License-Identifier: MIT
 *
 * shard_map: where a cluster's keys are: how many shards it has, what the keys of each begin with,
 * which server holds them, and which shard a name belongs to (docs/adr/0024-shards.md). Plain data,
 * which changes until `is_agreed` and not afterwards, and pure functions: any thread. A name's
 * shard is the same on every node and in every version.
 */
#ifndef PARLEY_REDIS_SHARD_MAP_H
#define PARLEY_REDIS_SHARD_MAP_H

#include "shared/redis/address.h"

enum { SHARDS_MAX = 64, SHARD_BASE_MAX_BYTES = 64, SHARD_PREFIX_BYTES = SHARD_BASE_MAX_BYTES + 8 };

enum { CLUSTER_ID_BYTES = 16 };

struct shard_map {
    unsigned n;                    /* shards: a power of two, up to SHARDS_MAX */
    bool is_n_given;               /* with --shards: the cluster must have that number */
    bool is_untagged;              /* its one prefix is `base` (shard_map_untag) */
    unsigned server_n;             /* no more than shards */
    char id[CLUSTER_ID_BYTES + 1]; /* the cluster's, once it is agreed on */
    /* With the servers (agreement.h): connections may be used. */
    _Atomic bool is_agreed;
    struct redis_address servers[SHARDS_MAX];
    char base[SHARD_BASE_MAX_BYTES + 1];           /* as it was given: "parley:" */
    char prefixes[SHARDS_MAX][SHARD_PREFIX_BYTES]; /* "parley:{0}:", ends with a NUL */
};

/* The shard of a name (buf_put_name), of a cluster of `n`. */
unsigned shard_of(struct str name, unsigned n);

/* Writes the prefixes of `n` shards. `base` is what they begin with before the hash tag, or the
 * whole prefix of shard 0: "parley:" and "parley:{0}:" mean the same. False, with a reason for
 * people: `n` is no power of two up to SHARDS_MAX, `base` is too long, or has a hash tag that the
 * other shards could not share. Servers are untouched. */
bool shard_map_name(struct shard_map *map, struct str base, unsigned n,
                    const char **ret_reason) must_check;

/* For a cluster of a former version whose --key-prefix had no hash tag: one shard, whose keys begin
 * with `base` as it is. */
void shard_map_untag(struct shard_map *map);

/* Has `base` a hash tag of its own, or {0}? */
bool shard_map_has_tag(const struct shard_map *map);

/* What the keys of all its shards have in common: "parley:{", or the one prefix that it has. */
struct str shard_map_stem(const struct shard_map *map);

static inline const struct redis_address *shard_server(const struct shard_map *map, unsigned shard)
{
    return &map->servers[shard % map->server_n];
}

#endif
