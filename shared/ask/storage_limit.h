/* SPDX-License-Identifier: MIT
 *
 * storage_limit: the storage limits of a request's account and of each of its users on one shard,
 * as arguments of verbs (lua/queue/stored.lua). On the loop's thread.
 */
#ifndef PARLEY_ASK_STORAGE_LIMIT_H
#define PARLEY_ASK_STORAGE_LIMIT_H

#include "shared/http/request/request.h"
#include "shared/redis/verb.h"

/* One shard's part of max_stored and of max_stored_per_user (NO_NUMBER: no limit), at least the
 * size counted for one topic. Nothing is counted for an account that has neither. */
uint64_t storage_limit_of_account(const struct request *r);
uint64_t storage_limit_of_user(const struct request *r);
/* The same of an account without a request, on a cluster of `shard_n` shards. */
uint64_t storage_limit_for(const struct account *account, unsigned shard_n);
uint64_t storage_limit_for_user(const struct account *account, unsigned shard_n);

#endif
