/* SPDX-License-Identifier: MIT
 * storage_limit.c - see storage_limit.h. */
#include "shared/ask/storage_limit.h"

#include "shared/http/request/server.h"
#include "shared/redis/shards.h"

static uint64_t part(unsigned shard_n, uint64_t bytes, uint64_t least)
{
    uint64_t mine = (bytes - 1) / shard_n + 1;
    return mine < least ? least : mine;
}

uint64_t storage_limit_for(const struct account *account, unsigned shard_n)
{
    if (account->max_stored > 0)
        return part(shard_n, account->max_stored, ACCOUNT_STORED_MIN);
    return account->max_stored_per_user > 0 ? ACCOUNT_STORED_MAX : NO_NUMBER;
}

uint64_t storage_limit_for_user(const struct account *account, unsigned shard_n)
{
    uint64_t bytes = account->max_stored_per_user;
    return bytes == 0 ? NO_NUMBER : part(shard_n, bytes, ACCOUNT_STORED_MIN_PER_USER);
}

uint64_t storage_limit_of_account(const struct request *r)
{
    return storage_limit_for(r->account, r->server->shards->n);
}

uint64_t storage_limit_of_user(const struct request *r)
{
    return storage_limit_for_user(r->account, r->server->shards->n);
}
