/* SPDX-License-Identifier: MIT
 * shard_map.c - see shard_map.h. */
#include "shared/redis/shard_map.h"

#include "shared/base/hash.h"

#include <stdio.h>

/* Hash tags. Redis Cluster puts a key into the slot CRC16(tag) mod 16384. Each of these lies within
 * 50 slots of slot("0") + 16384 * r / 64, where r is the number of the shard with its six bits
 * reversed: so the first n of them are spread evenly over the slots for every n that is a power of
 * two (tests/unit/test_shard_map.c). Each begins with its shard's number (lua/turn/counters.lua).
 * Never to be changed: keys are named by them. */
static const char *const tags[SHARDS_MAX] = {
    "0",    "1nb",  "2ig",  "3ew",  "4qg",  "5bo",  "6us",  "7iz",  "8ql",  "9bd",  "10ni",
    "11by", "12li", "13nb", "14sf", "15oo", "16po", "17cg", "18ha", "19th", "20u",  "21mu",
    "22tp", "23gx", "24qz", "25j",  "26zo", "27ff", "28du", "29he", "30ar", "31rz", "32dd",
    "33ht", "34jj", "35vc", "36xp", "37dy", "38pg", "39sv", "40je", "41vl", "42ap", "43rx",
    "44vr", "45ez", "46lf", "47ow", "48lm", "49pd", "50hr", "51jy", "52b",  "53z",  "54ed",
    "55it", "56jt", "57fd", "58rz", "59e",  "60df", "61xo", "62nk", "63rb",
};

/* FNV-1a, and MurmurHash3's finalizer (https://github.com/aappleby/smhasher), since the low bits of
 * the former alone are poor. */
unsigned shard_of(struct str name, unsigned n)
{
    uint32_t hash = hash_fnv32(name, 0);
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return (hash ^ hash >> 16) & (n - 1);
}

/* A number that is learned later changes no address that a connection already borrows. */
static void place_in_slots(struct shard_map *map)
{
    map->server_n = map->n;
    for (unsigned i = 0; i < map->n; i++) {
        if (map->servers[i].topology != NULL && i > 0)
            continue;
        if (i > 0)
            map->servers[i] = map->servers[0];
        map->servers[i].slot = redis_slot_of(str_of(map->prefixes[i]));
    }
}

bool shard_map_name(struct shard_map *map, struct str base, unsigned n, const char **ret_reason)
{
    static const struct str first = {"{0}:", 4};
    bool has_tag = memchr(base.at, '{', base.n) != NULL;
    *ret_reason = NULL;
    if (n == 0 || n > SHARDS_MAX || (n & (n - 1)) != 0)
        *ret_reason = "takes a power of two from 1 to 64";
    else if (base.n > SHARD_BASE_MAX_BYTES)
        *ret_reason = "takes at most 64 bytes";
    if (*ret_reason != NULL)
        return false;
    map->n = n;
    char text[SHARD_BASE_MAX_BYTES + 1];
    snprintf(text, sizeof text, "%.*s", STR_ARG(base)); /* which may be map->base */
    memcpy(map->base, text, sizeof text);
    base = (struct str){map->base, base.n};
    if (has_tag && base.n > first.n &&
        str_eq((struct str){base.at + base.n - first.n, first.n}, first)) {
        base.n -= first.n;
        has_tag = memchr(base.at, '{', base.n) != NULL;
    }
    if (has_tag && n > 1) {
        *ret_reason = "has its own hash tag, which several shards cannot share: use only the part "
                      "before the tag, such as parley:";
        return false;
    }
    for (unsigned i = 0; i < n; i++)
        if (has_tag)
            snprintf(map->prefixes[i], SHARD_PREFIX_BYTES, "%.*s", STR_ARG(base));
        else
            snprintf(map->prefixes[i], SHARD_PREFIX_BYTES, "%.*s{%s}:", STR_ARG(base), tags[i]);
    if (map->is_cluster)
        place_in_slots(map);
    return true;
}

struct str shard_map_stem(const struct shard_map *map)
{
    static const char first[] = "{0}:";
    struct str prefix = str_of(map->prefixes[0]);
    size_t n = sizeof first - 1;
    bool is_first = prefix.n >= n && strcmp(prefix.at + prefix.n - n, first) == 0;
    return is_first ? (struct str){prefix.at, prefix.n - n + 1} : prefix;
}
