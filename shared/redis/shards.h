/* SPDX-License-Identifier: MIT
 *
 * shards: the turns of a node, one per shard, and the choice of the turn for a verb. A verb's
 * header names its home; if that is an argument (a topic, a space), the call selects the turn
 * automatically:
 *
 *     call_retry(shards_call(shards, &op->call, on_retried), .topic = topic, .seq = seq);
 *
 * For a verb of home `every` the caller chooses the turn and uses turn_call. On the loop's thread.
 */
#ifndef PARLEY_REDIS_SHARDS_H
#define PARLEY_REDIS_SHARDS_H

#include "shared/redis/shard_map.h"
#include "shared/redis/turn.h"

struct shards {
    unsigned n; /* a power of two */
    struct turn *turns[SHARDS_MAX];
    /* The least time between two calls that a node makes without work, because nodes are many
     * (lua/queue/pace.lua); 0: they are few. The queue sets it. */
    uint64_t pace_ms[SHARDS_MAX];
};

static inline struct turn *shards_turn(const struct shards *shards, struct str name)
{
    return shards->turns[shards->n == 1 ? 0 : shard_of(name, shards->n)];
}

/* The shard that records an engine's name and newest poll: that of "<account> <engine>" (names;
 * `engine` is "-" without one). */
unsigned shards_of_engine(const struct shards *shards, struct str account, struct str engine);

/* The shard on which a set nonce is used up. */
static inline unsigned shards_of_nonce(const struct shards *shards, const struct nonce_id *nonce)
{
    return shard_of((struct str){(const char *)nonce->bytes, NONCE_ID_BYTES}, shards->n);
}

/* The turn for data of the whole cluster: lookups, recommendations, login failures, keys. */
static inline struct turn *shards_cluster(const struct shards *shards)
{
    return shards->turns[0];
}

/* The turn of a cluster with one shard; NULL with more. */
static inline struct turn *shards_only(const struct shards *shards)
{
    return shards->n == 1 ? shards->turns[0] : NULL;
}

/* One shard's part of a limit on the whole cluster: at least 1. */
static inline unsigned shards_part(const struct shards *shards, unsigned n)
{
    return n == 0 ? 1 : (n - 1) / shards->n + 1;
}

static inline struct call_start shards_call(struct shards *shards, struct call *call,
                                            call_reply_cb *on_reply)
{
    return (struct call_start){
        .shards = shards, .turn = shards_only(shards), .call = call, .on_reply = on_reply};
}
static inline struct call_start shards_forget(struct shards *shards)
{
    return (struct call_start){.shards = shards, .turn = shards_only(shards)};
}

/* Calls that wait for a reply or to be sent, of all shards. */
static inline size_t shards_pending_n(const struct shards *shards)
{
    size_t n = 0;
    for (unsigned i = 0; i < shards->n; i++)
        n += turn_pending_n(shards->turns[i]);
    return n;
}

/* turn_warnings of any of them. */
static inline unsigned shards_warnings(const struct shards *shards)
{
    unsigned warnings = 0;
    for (unsigned i = 0; i < shards->n; i++)
        warnings |= turn_warnings(shards->turns[i]);
    return warnings;
}

/* turn_flush of each. */
static inline void shards_flush(struct shards *shards)
{
    for (unsigned i = 0; i < shards->n; i++)
        turn_flush(shards->turns[i]);
}

/* --- for generated code ----------------------------------------------------------------------- */

/* Keeps a given turn or a thread's own connection; otherwise selects the turn of the name's shard.
 */
static inline struct call_start start_at(struct call_start start, struct str name)
{
    if (start.shards != NULL)
        start.turn = shards_turn(start.shards, name);
    return start;
}

/* Selects the shard of its nonce; without one, any. */
static inline struct call_start start_at_nonce(struct call_start start)
{
    const struct nonce_id *nonce = start.nonce;
    bool is_set = nonce != NULL && nonce->is_set;
    return start_at(
        start, (struct str){is_set ? (const char *)nonce->bytes : "", is_set ? NONCE_ID_BYTES : 0});
}

static inline struct call_start start_at_engine(struct call_start start, struct str account,
                                                struct str engine)
{
    if (start.shards != NULL)
        start.turn = start.shards->turns[shards_of_engine(start.shards, account, engine)];
    return start;
}

static inline struct call_start start_at_cluster(struct call_start start)
{
    if (start.shards != NULL)
        start.turn = shards_cluster(start.shards);
    return start;
}

#endif
