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
 * in the order of the shards; of a cluster of one shard valid inside the callback only. */
typedef void gather_cb(struct request *r, enum err error, const struct gather *all);

struct gather {
    unsigned n, left_n; /* shards, and those that have not answered */
    enum err error;
    gather_cb *on_all;
    struct str *replies;
};

/* Replaces what the request gathered before, which has ended. */
struct gather *gather_begin(struct request *r, gather_cb *on_all);
/* How the verb is begun on that shard, once for each. */
struct call_start gather_call(struct request *r, unsigned shard);

#endif
