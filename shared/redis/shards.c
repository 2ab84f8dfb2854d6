/* SPDX-License-Identifier: MIT
 * shards.c - see shards.h. */
#include "shared/redis/shards.h"

#include <stdlib.h>

enum { NAME_MAX_BYTES = 1024 }; /* two names as headers allow them */

unsigned shards_of_engine(const struct shards *shards, struct str account, struct str engine)
{
    char name[NAME_MAX_BYTES + 1];
    if (shards->n == 1)
        return 0;
    if (account.n + 1 + engine.n > sizeof name)
        abort(); /* the caller holds names to their limits */
    memcpy(name, account.at, account.n);
    name[account.n] = ' ';
    memcpy(name + account.n + 1, engine.at, engine.n);
    return shard_of((struct str){name, account.n + 1 + engine.n}, shards->n);
}
