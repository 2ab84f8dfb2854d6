/* SPDX-License-Identifier: MIT
 *
 * gather: one verb of home `every`, begun on each shard for one request, and what all of them
 * answered. In the request's memory, on the loop's thread; a client that leaves ends it.
 *
 *     struct gather *all = gather_begin(r, on_status);
 *     for (unsigned i = 0; i < all->n; i++)
 *         call_status(gather_call(r, i));
 */
#ifndef PARLEY_HTTP_GATHER_H
#define PARLEY_HTTP_GATHER_H

#include "shared/http/request.h"

struct gather;
/* `error`: of the first shard that failed; then no reply is of use. Else `all->replies` are there,
 * in the order of the shards, without those that are missing; of a cluster of one shard valid
 * inside the callback only. */
typedef void gather_cb(struct request *r, enum err error, const struct gather *all);

struct gather {
    unsigned n, left_n; /* shards, and those that have not answered */
    enum err error;
    bool may_miss;    /* some may be away */
    uint64_t missing; /* those that are, a bit each */
    gather_cb *on_all;
    struct str *replies;
};

/* Replaces what the request gathered before, which has ended. */
struct gather *gather_begin(struct request *r, gather_cb *on_all);
/* The same of what is of use without the shards that are away: `error` is an outage only when all
 * are. What is missing its answer has to say (gather_put_missing). */
struct gather *gather_begin_partial(struct request *r, gather_cb *on_all);
static inline bool gather_is_missing(const struct gather *all, unsigned shard)
{
    return (all->missing >> shard & 1) != 0;
}
/* Puts `,"MissingShards":[1,3]`, the shards of a mask; nothing where none is. */
void gather_put_missing(struct buf *b, uint64_t missing);
/* How the verb is begun on that shard, once for each. */
struct call_start gather_call(struct request *r, unsigned shard);

#endif
