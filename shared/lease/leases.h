/* SPDX-License-Identifier: MIT
 *
 * leases: the rows of one kind that a node holds under a lease: runs of workflows, deliveries to
 * bots, evaluations. What a row is doing is in Redis and belongs to the one node that has its fence
 * (lua/turn/leased.lua), so nothing is lost with a node. The module finds rows for the node, keeps
 * them and gives them back; its user says with a struct lease_kind which verbs do that, and what
 * happens to a row that comes or goes.
 *
 *   taken      every few seconds, and when Redis is back, the node asks each shard whether rows are
 *              due (`check`), and takes them (`take`): rows that nobody has, of nodes that died,
 *              and whose deadline has passed
 *   held       the user starts them; those that its own verbs have leased to this node as well
 *   renewed    all leases on a shard together; a row that another node has by now is dropped
 *   released   given back, because it finds no room here or the node drains; or dropped without a
 *              word, and taken by some node when its lease ends
 *
 * A check is sent with a turn that is sent anyway, so that idle nodes cost Redis no call of their
 * own. Of many nodes (shards->pace_ms) one that finds that others have just asked asks less often.
 * One struct leases per node and kind, in its owner; a struct lease per row, in the row. On the
 * loop's thread. The functions of a kind are called inside the functions below, from replies and
 * from the tick.
 */
#ifndef PARLEY_LEASE_LEASES_H
#define PARLEY_LEASE_LEASES_H

#include "shared/base/list.h"
#include "shared/op/loop.h"
#include "shared/queue/lines.h"
#include "shared/redis/shards.h"
#include "shared/redis/verb.h"

enum { LEASE_ID_MAX_BYTES = 96, LEASE_DUE_WORDS = 2 };

/* The use that a node makes of a row. */
enum lease_use {
    LEASE_IDLE, /* nothing is under way with it: another node may have it at any moment */
    LEASE_WORKING,
    LEASE_STORING, /* the reply to a verb of its own will say what became of it; until then it is
                      not dropped, even if its lease is lost */
};

struct leases;

/* A row that is held; lease_hold fills it. */
struct lease {
    struct leases *leases;
    struct list_link link; /* of the node's */
    struct turn *turn;     /* of its shard */
    uint64_t fence;
    bool was_renewed; /* under this fence */
    char id[LEASE_ID_MAX_BYTES + 1];
};

struct lease_kind {
    uint64_t tick_ms;
    uint64_t renew_ms; /* at a tick, at most this often; three of them fit into a lease */
    /* With a turn that is sent anyway, at most this often; */
    uint64_t check_ms;
    /* or at a tick, if the last check is that long ago. */
    uint64_t check_again_ms;
    unsigned home_at, home_bytes; /* the part of an id that decides on the row's shard */
    unsigned rows_max;            /* that a node may hold */
    unsigned renew_max, take_max; /* rows of one call */

    /* --- verbs --- */

    /* With `wants_age` the reply also has how many ms ago a node asked the same, if one did. */
    void (*check)(struct leases *leases, struct call_start start, bool wants_age);
    const char *due[LEASE_DUE_WORDS]; /* replies to it that mean yes; the second may be NULL */
    /* The reply has the lines of each row; the first two are its id and its fence. */
    void (*take)(struct leases *leases, struct call_start start, unsigned limit);
    /* The reply has the ids of rows that this node does not hold any more. */
    struct verb_writer (*begin_renewal)(struct call_start start);
    void (*put_renewal)(struct verb_writer *verb, const struct lease *lease);
    /* Another node may take it after that time. NULL: when its lease ends. */
    void (*release)(struct lease *lease, struct call_start start, uint64_t after_ms);

    /* --- rows --- */

    /* Returns how many more rows the node takes now; NULL: as many as take_max. */
    unsigned (*count_capacity)(struct leases *leases);
    /* A row that was taken: reads the rest of its lines and starts it (lease_hold), or leaves it,
     * as one of a newer version. */
    void (*start)(struct leases *leases, struct str id, uint64_t fence, struct lines *rest);
    /* Ends what is under way with it and frees it, with lease_let_go inside. */
    void (*drop)(struct lease *lease);
    enum lease_use (*use_of)(struct lease *lease);
};

struct leases {
    const struct lease_kind *kind;
    struct loop *loop;
    struct shards *shards;
    const bool *is_draining;
    struct list rows; /* struct lease */
    struct deadline tick;
    uint64_t renewed_ms;
    struct lease_shard *per_shard[SHARDS_MAX];
};

/* Begins to tick. The others are borrowed. While the node drains it takes nothing. */
void leases_init(struct leases *leases, const struct lease_kind *kind, struct loop *loop,
                 struct shards *shards, const bool *is_draining);
/* Drops all rows; other nodes take them when their leases end. */
void leases_fini(struct leases *leases);

/* Holds a row. `id`, which has a home and LEASE_ID_MAX_BYTES at most, is copied. A row that is held
 * under the same id is dropped. */
void lease_hold(struct leases *leases, struct lease *lease, struct str id, uint64_t fence);
void lease_let_go(struct lease *lease);
/* The part of its id that decides on its shard; borrowed. */
struct str lease_home(const struct lease *lease);
/* Releases it and drops it. */
void lease_give_back(struct lease *lease, uint64_t after_ms);

/* --- hooks of a service (services/node/service.h) --- */

/* Takes from that shard. */
void leases_on_up(struct leases *leases, unsigned shard);
void leases_before_flush(struct leases *leases);
/* Gives back rows that are idle; those that are not may end. */
void leases_drain(struct leases *leases);

#endif
