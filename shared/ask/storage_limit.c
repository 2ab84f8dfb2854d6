/* SPDX-License-Identifier: MIT
 * storage_limit.c - see storage_limit.h. */
#include "shared/ask/storage_limit.h"

#include "shared/http/request/server.h"
#include "shared/redis/shards.h"

static uint64_t part(const struct request *r, uint64_t bytes, uint64_t least)
{
    uint64_t mine = (bytes - 1) / r->server->shards->n + 1;
    return mine < least ? least : mine;
}

uint64_t storage_limit_of_account(const struct request *r)
{
    const struct account *account = r->account;
    if (account->max_stored > 0)
        return part(r, account->max_stored, ACCOUNT_STORED_MIN);
    return account->max_stored_per_user > 0 ? ACCOUNT_STORED_MAX : NO_NUMBER;
}

uint64_t storage_limit_of_user(const struct request *r)
{
    uint64_t bytes = r->account->max_stored_per_user;
    return bytes == 0 ? NO_NUMBER : part(r, bytes, ACCOUNT_STORED_MIN_PER_USER);
}
