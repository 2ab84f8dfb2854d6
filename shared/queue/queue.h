/* SPDX-License-Identifier: MIT
 *
 * queue: one node's side of the claim machine: the polls it holds for engines, the requests that
 * wait for an outcome, and the timers that keep Redis's view of this node true. The queue itself is
 * in Redis (lua/queue); everything here can be lost without harm. One per loop, used on its thread
 * only.
 *
 *            queue_poll_start                 work            on_claim
 *   (idle) ------------------> POLL_CLAIMING ------------------------> (idle)
 *                                   | none: a credit is granted           ^
 *                                   v                                     | hand-over
 *                              POLL_PARKED -------------------------------+
 *                                   | queue_poll_cancel: the credit is taken back
 *                                   v
 *                                (idle)
 */
#ifndef PARLEY_QUEUE_QUEUE_H
#define PARLEY_QUEUE_QUEUE_H

#include "shared/base/list.h"
#include "shared/metrics/metrics.h"
#include "shared/queue/lines.h"
#include "shared/queue/piece.h"
#include "shared/redis/bus.h"
#include "shared/redis/shards.h"

struct queue;
struct poll_class;

enum poll_state { POLL_IDLE, POLL_CLAIMING, POLL_PARKED, POLL_NR };

/* One engine's poll. Lives in its owner; zeroed initially except its callbacks. */
struct poll {
    enum poll_state state;
    bool may_park;
    bool is_superseded;          /* a newer poll of its engine came first: do not park it */
    unsigned first_shard, shard; /* where it began to claim, and claims now */
    uint64_t tried;              /* shards, a bit each */
    uint64_t failed;             /* of these: unreachable shards */
    bool is_claiming;            /* its claim is under way there */
    bool has_nonce;              /* with its nonce, which is not used up if that shard fails */
    struct poll_class *class;
    struct list_link link; /* of its class */
    struct call call;      /* while it is claiming */
    uint64_t number;
    uint64_t since_ms;  /* clock_mono_ms of its start */
    struct str engine;  /* the engine's own name, borrowed from the owner; at == NULL for none */
    struct str process; /* the same: a name that engines of one process share */
    uint64_t wait_ms;   /* how long the client may wait; for operators */
    struct str after;   /* a topic: its shard is tried last. Read by queue_poll_start */
    /* Returns whether the client can take a claim. Called right before one is given. */
    bool (*is_alive)(struct poll *poll);
    /* The poll is parked: it waits, with or without a credit. May be NULL. */
    void (*on_parked)(struct poll *poll);
    /* The poll got a claim and is idle again; `claim` is valid only inside the call. The owner
     * calls queue_delivering, answers its engine, and then calls queue_delivered or
     * queue_give_back. */
    void (*on_claim)(struct poll *poll, struct claim *claim);
    /* The poll ended without a claim and is idle again. ERR_OK: answer with the empty body (a newer
     * poll of that engine replaced it, or there was no work and it may not wait). ERR_NOT_FOUND:
     * its client has left. Otherwise the error. */
    void (*on_end)(struct poll *poll, enum err error);
    /* For a poll that began within another verb (queue_poll_join): handles that verb's reply and
     * advances `reply` to the part about the poll. Returns false if the poll is over without a
     * further callback. */
    bool (*on_joined)(struct poll *poll, enum err error, struct lines *reply);
};

/* The arguments with which a verb claims for a poll (lua/queue/complete.lua). */
struct poll_join {
    struct call_start start;
    struct str class, engine;
    uint64_t number;
};

/* Waits for the outcome of one query. Lives in its owner. A watch for a query that is being added
 * has Seq 0 and gets on_changed for every event of its topic, because it may be its own; once its
 * Seq is known, remove it and add it again. */
struct watch {
    struct list_link link; /* of its bucket */
    struct str topic;      /* name; borrowed from the owner */
    uint64_t seq;          /* 0: not known yet */
    /* The outcome as text, valid inside the call only. The watch stays on. */
    void (*on_outcome)(struct watch *watch, struct str outcome);
    /* Something changed or may have been missed: check again. */
    void (*on_changed)(struct watch *watch);
    /* More text of the unfinished answer, valid inside the call only. NULL: not wanted. */
    void (*on_piece)(struct watch *watch, const struct piece *piece);
};

struct queue_config {
    const struct shard_map *map;
    const char *node_id;
    uint64_t lease_ms, delivery_ms, max_attempts, queue_max;
    uint64_t rescan_ms; /* between two syncs; 0: 5 s, with several shards 1 s; of many nodes more */
    uint64_t fallback_ms; /* lua/queue/fallback.lua; 0: never */
    enum durable durable; /* what acknowledged data must have reached */
    uint64_t retention_s; /* 0: forever */
    /* For operators, borrowed: more members of the node's record (`,"pid":1`), and settings that
     * should be the same on all nodes (`<name>=<value> ...`, values as names). */
    const char *about, *shared_settings;
    /* An event that does not concern the queue: its first line and the lines after it. */
    void (*on_other_event)(void *arg, struct str kind, struct lines *rest);
    /* Scripts run on that shard (again). */
    void (*on_up)(void *arg, unsigned shard);
    void *arg;
};

/* Connects to Redis, and reconnects indefinitely. `config` is copied; what it points to, `loop` and
 * `metrics` are borrowed. All callbacks run on the loop's thread, those of the config never before
 * this returns. */
struct queue *queue_create(struct loop *loop, const struct queue_config *config,
                           struct metrics *metrics) must_check;
/* Running verbs and claiming polls end with ERR_REDIS_LOST first; parked polls and watches get no
 * callback. Accepts NULL. */
void queue_destroy(struct queue *queue);
/* Leaves the list of nodes as soon as its calls are answered (shards_pending_n). Call it once, when
 * nothing is under way any more. The queue may only be destroyed afterwards. */
void queue_leave(struct queue *queue);
/* For other verbs; owned by the queue. */
struct shards *queue_shards(struct queue *queue);
/* The last known trouble of the shard of a topic (name); REDIS_FINE while it works. */
enum redis_trouble queue_trouble(const struct queue *queue, struct str topic);
/* Servers in --redis. */
unsigned queue_server_n(const struct queue *queue);
/* The same for a server by its index in --redis, from 0: that of its first shard with trouble. */
enum redis_trouble queue_server_trouble(const struct queue *queue, unsigned server);
/* Returns whether at most half of the shards have an outage and, with several, the first one, which
 * holds cluster-wide data, has been reachable once. */
bool queue_is_usable(const struct queue *queue);
/* Returns the accounts that are drained, as far as this node knows: names, joined by ','. Valid
 * until the loop's next pass. */
struct str queue_drained(const struct queue *queue);
/* The node's id. Valid as long as the queue is. */
struct str queue_node_id(const struct queue *queue);
/* Returns the longest time between two syncs of a shard while nodes are few: Redis's record of a
 * living node is at most that old. Of many nodes: lua/queue/pace.lua. */
uint64_t queue_sync_ms(const struct queue *queue);
/* Returns how long a claim lasts without a heartbeat. */
uint64_t queue_lease_ms(const struct queue *queue);

/* The models value of polls for lookups: no model can have this name. */
#define LOOKUPS_OF_ALL STR("?")

/* Takes the next claim for an engine of that account (name), that serves `models` ("*", or names
 * joined by ','), or the next lookup (LOOKUPS_OF_ALL). Without `may_park` the poll ends at once if
 * there is no work. `nonce`: the client's, used up by this call; NULL for none. If it was already
 * used, only on_end(ERR_NONCE_USED) runs. Its callbacks never run before this returns. */
void queue_poll_start(struct queue *queue, struct poll *poll, struct str account, struct str models,
                      struct nonce_id *nonce, bool may_park);
/* Returns whether, with several shards, such a poll claims first on the shard of its nonce. If so,
 * start it with the nonce; otherwise use the nonce up first. */
bool queue_poll_fits_nonce(struct queue *queue, struct str account, struct str models,
                           const struct nonce_id *nonce, bool may_park);
/* Like queue_poll_start, but within a verb that the caller begins immediately with the returned
 * arguments. Returns false and starts nothing if the poll needs a separate call: it may have to try
 * several shards, or its account is drained. on_joined is called first. */
bool queue_poll_join(struct queue *queue, struct poll *poll, struct str account, struct str models,
                     struct nonce_id *nonce, bool may_park, struct poll_join *ret_join) must_check;
/* Notes a sign of life of an engine (names) that has a claim. */
void queue_note_beat(struct queue *queue, struct str account, struct str engine);
/* Notes that the client of a poll that has not ended has left. */
void queue_note_left(struct queue *queue, const struct poll *poll);
/* Returns the settings in which living nodes differ from this one, as of the last sync, four lines
 * each: its name / this node's value / another node's, as names / that node: its address, or its
 * id. */
struct lines queue_differences(const struct queue *queue);
/* Stops reporting the earlier poll of an engine (names) that rests or leaves. */
void queue_forget_engine(struct queue *queue, struct str account, struct str engine);
/* Ends the poll without a callback. */
void queue_poll_cancel(struct queue *queue, struct poll *poll);
/* Ends every poll that is parked, with on_end(ERR_OK). */
void queue_end_parked(struct queue *queue);

/* A claim is about to be written to its engine. Its lease becomes a full one soon, unless it ends
 * or is given back first: an engine may read a long claim for longer than a delivery lease.
 * `topic`: for a lookup its fingerprint. `record`: the text of the lease's key
 * (lua/queue/leases.lua); "" for a lookup. Copies what it keeps. */
void queue_delivering(struct queue *queue, enum work work, struct str topic, struct str lease,
                      struct str record);
/* All of it reached the engine's socket. `connection` and `stream`: for queue_answer_reset; 0:
 * none. */
void queue_delivered(struct queue *queue, enum work work, struct str topic, struct str lease,
                     uint64_t connection, uint32_t stream);
/* A client has reset its connection, or if `stream` is not 0, that stream of it: claims that were
 * sent there and are not confirmed yet keep their delivery leases, unless the engine extends or
 * answers them. */
void queue_answer_reset(struct queue *queue, uint64_t connection, uint32_t stream);
/* Its client has reset the stream after libh2o had taken all of it: it keeps its delivery lease, as
 * the engine may have got it, or is given back if it is confirmed. */
void queue_delivery_reset(struct queue *queue, enum work work, struct str topic, struct str lease);
/* Notes that a claim of queries has ended, so nothing is left to confirm. */
void queue_claim_ended(struct queue *queue, struct str topic, struct str lease);
/* Confirms the lease of a claim of queries whose engine is about to give a sign of life, so that
 * its key exists. */
void queue_claim_lives(struct queue *queue, struct str topic, struct str lease);
/* Gives back a claim that did not reach its engine: its queries are Open again, its lookup can be
 * claimed. `sent`: bytes of it were sent, so it may be the reason why the connection ended. */
void queue_give_back(struct queue *queue, enum work work, struct str topic, struct str lease,
                     bool sent);
/* Reports to Redis immediately what queue_delivered collects, because the node shuts down. */
void queue_report_delivered(struct queue *queue);

/* Starts to listen for the outcome of the query in `watch`; it does not check for an existing
 * outcome: register first, then check. */
void queue_watch(struct queue *queue, struct watch *watch);
/* Does nothing if it is not registered. */
void queue_unwatch(struct queue *queue, struct watch *watch);
/* Calls on_changed of every watch. */
void queue_each_watch(struct queue *queue);

/* Adds deferred work to the turn that is about to be sent. Call it before each turn_flush. */
void queue_before_flush(struct queue *queue);

/* Makes sure that the lease of a lookup that was just added is checked, since it may be handed over
 * to a node that dies. For queries queue_count_added does that. */
void queue_cover_delivery(struct queue *queue);

/* Counts for rates and ETAs of that topic's shard; reported to Redis with the next sync. */
void queue_count_added(struct queue *queue, struct str topic);
void queue_count_done(struct queue *queue, struct str topic);

/* Dispatches one event of that shard, like the bus and turns. Public for its fuzz target. */
void queue_on_event(struct queue *queue, unsigned shard, struct str event);

#endif
