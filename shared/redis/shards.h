/* SPDX-License-Identifier: MIT
 *
 * shards: the turns of a node, one for each shard, and which of them a verb runs on. A verb's
 * header names its home; where that is an argument (a topic, a space), its call finds the turn by
 * itself:
 *
 *     call_retry(shards_call(shards, &op->call, on_retried), .topic = topic, .seq = seq);
 *
 * A verb of home `every` is begun with turn_call, on the turn that its caller chose. On the loop's
 * thread.
 */
#ifndef PARLEY_REDIS_SHARDS_H
#define PARLEY_REDIS_SHARDS_H

#include "shared/redis/shard_map.h"
#include "shared/redis/turn.h"

struct shards {
    unsigned n; /* a power of two */
    struct turn *turns[SHARDS_MAX];
};

static inline struct turn *shards_turn(const struct shards *shards, struct str name)
{
    return shards->turns[shards->n == 1 ? 0 : shard_of(name, shards->n)];
}

/* Where an engine is known by its name, and which poll of it is the newest: the shard of
 * "<account> <engine>" (names; `engine` is "-" for those without one). */
unsigned shards_of_engine(const struct shards *shards, struct str account, struct str engine);

/* Where a nonce that is set is used up. */
static inline unsigned shards_of_nonce(const struct shards *shards, const struct nonce_id *nonce)
{
    return shard_of((struct str){(const char *)nonce->bytes, NONCE_ID_BYTES}, shards->n);
}

/* Where what is of the whole cluster lives: lookups, recommendations, failures of logins, keys. */
static inline struct turn *shards_cluster(const struct shards *shards)
{
    return shards->turns[0];
}

/* The turn of a cluster of one shard; NULL of more. */
static inline struct turn *shards_only(const struct shards *shards)
{
    return shards->n == 1 ? shards->turns[0] : NULL;
}

/* What one shard has of a bound on the whole cluster: at least 1. */
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

/* Begun on a turn, or on a thread's own connection: there. Else on the turn of that name's shard.
 */
static inline struct call_start start_at(struct call_start start, struct str name)
{
    if (start.shards != NULL)
        start.turn = shards_turn(start.shards, name);
    return start;
}

/* On the shard that its nonce is of; without one on any. */
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
