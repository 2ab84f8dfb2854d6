/* SPDX-License-Identifier: MIT
 *
 * hash: FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/): distributes keys over buckets and
 * detects that texts differ. Fast for short keys, but not collision-resistant: a client that
 * chooses the keys can make them collide. Pure functions, any thread, the same result on every
 * machine.
 */
#ifndef PARLEY_BASE_HASH_H
#define PARLEY_BASE_HASH_H

#include "shared/base/str.h"

/* Different salts give different functions; 0 is plain FNV-1a. */
static inline uint32_t hash_fnv32(struct str s, uint32_t salt)
{
    uint32_t hash = 0x811c9dc5u ^ salt;
    for (size_t i = 0; i < s.n; i++)
        hash = (hash ^ (unsigned char)s.at[i]) * 0x01000193u;
    return hash;
}

static inline uint64_t hash_fnv64(struct str s, uint64_t salt)
{
    uint64_t hash = 0xcbf29ce484222325u ^ salt;
    for (size_t i = 0; i < s.n; i++)
        hash = (hash ^ (unsigned char)s.at[i]) * 0x100000001b3u;
    return hash;
}

#endif
