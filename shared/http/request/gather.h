/* SPDX-License-Identifier: MIT
 *
 * gather: runs a verb of home `every` on each shard for one request and collects the replies. In
 * the request's memory, on the loop's thread; ends when the client leaves.
 *
 *     struct gather *all = gather_begin(r, on_status);
 *     for (unsigned i = 0; i < all->n; i++)
 *         call_status(gather_call(r, i));
 */
#ifndef PARLEY_HTTP_GATHER_H
#define PARLEY_HTTP_GATHER_H

#include "shared/http/request/request.h"

struct gather;
struct kept_reply;
/* `error`: of the first shard that failed; the replies are then unusable. Otherwise `all->replies`
 * has them in the order of the shards, without missing ones. They are valid only inside the
 * callback, unless it calls gather_keep. ERR_BUSY: the node holds too much of such replies
 * (connection_gather). */
typedef void gather_cb(struct request *r, enum err error, const struct gather *all);

struct gather {
    unsigned n, left_n; /* shards, and those that have not replied */
    enum err error;
    bool may_miss; /* some may be unavailable */
    bool may_miss_all;
    uint64_t missing; /* unavailable shards, one bit each */
    gather_cb *on_all;
    struct str *replies;
    struct kept_reply *kept; /* those that came before the last one */
    size_t kept_bytes;       /* counted for them */
    uint64_t replied;        /* shards that have, with whatever; one bit each */
    struct request *r;
    struct deadline late;      /* of gather_begin_until */
    struct kept_reply **ended; /* inside the callback: those, for gather_keep */
    struct buf answer; /* for a handler that puts one together in steps; freed with the request */
    void *context;     /* the same */
};

/* Inside the callback, once: the replies stay until the request is gone, or gathers again. Not of
 * gather_begin_until. False: there is no room for that, and the request is answered with 503. */
bool gather_keep(struct request *r) must_check;
/* Call it when the request is gone. Accepts NULL. */
void gather_fini(struct gather *gather);
/* Replaces an earlier gather of the request, which must have ended. */
struct gather *gather_begin(struct request *r, gather_cb *on_all);
/* The same for results that are useful even if some shards are unavailable: `error` is an outage
 * only if all are. The answer must then name the missing shards (gather_put_missing). */
struct gather *gather_begin_partial(struct request *r, gather_cb *on_all);
/* The same for results that are useful even without any shard, after at most `most_ms`: shards that
 * have not replied by then are missing, too, and `error` is never an outage. If no shard is
 * available, it is not known whether the nonce of a signed request is used up. */
struct gather *gather_begin_until(struct request *r, gather_cb *on_all, uint64_t most_ms);
/* Leaves out what has not replied yet, and runs on_all. */
void gather_give_up(struct request *r);
static inline bool gather_is_missing(const struct gather *all, unsigned shard)
{
    return (all->missing >> shard & 1) != 0;
}
/* Puts `,"MissingShards":[1,3]`, the shards of a mask; nothing if it is empty. */
void gather_put_missing(struct buf *b, uint64_t missing);
/* Returns how to start the verb on that shard; call it once for each. */
struct call_start gather_call(struct request *r, unsigned shard);

#endif
