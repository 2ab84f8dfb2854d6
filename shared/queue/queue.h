/* SPDX-License-Identifier: MIT
 *
 * queue: one node's side of the claim machine: the polls it holds for engines, the requests that
 * wait for an outcome, and the timers that keep Redis's view of this node true. The queue itself
 * is in Redis (lua/queue); nothing here may be missed when it is lost. One per loop, used on its
 * thread only.
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

#include "shared/metrics/metrics.h"
#include "shared/queue/lines.h"
#include "shared/redis/bus.h"
#include "shared/redis/shards.h"

struct queue;
struct poll_class;

enum poll_state { POLL_IDLE, POLL_CLAIMING, POLL_PARKED, POLL_NR };

/* One engine's poll. Lives in its owner; zeroed to begin with, its callbacks set. */
struct poll {
    enum poll_state state;
    bool may_park;
    bool is_superseded;          /* a newer poll of its engine came first: it is not to be parked */
    unsigned first_shard, shard; /* where it began to look, and looks now */
    uint64_t looked;             /* at these shards, a bit each */
    uint64_t failed;             /* of these: they could not be asked */
    bool is_looking;             /* its claim is under way there */
    bool has_nonce;              /* with its nonce, which is not used up if that one fails */
    struct poll_class *class;
    struct poll *previous, *next; /* of its class, oldest first */
    struct call call;             /* while it is claiming */
    uint64_t number;
    uint64_t since_ms; /* clock_mono_ms of its start */
    struct str engine; /* the engine's own name, borrowed from the owner; at == NULL for none */
    struct str after;  /* a topic: it looks at that one's shard last. Read by queue_poll_start */
    /* Is somebody there to take a claim? Asked right before one is given. */
    bool (*is_alive)(struct poll *poll);
    /* A claim for it: the poll is idle again; `claim` is valid inside the call only. The owner
     * answers its engine and then calls queue_delivered or queue_give_back. */
    void (*on_claim)(struct poll *poll, struct claim *claim);
    /* It ends without a claim: idle again. ERR_OK: with the empty body (a newer poll of that engine
     * took its place, or nothing was there for one that may not wait). ERR_NOT_FOUND: its client
     * has left. Else what failed. */
    void (*on_end)(struct poll *poll, enum err error);
    /* Of a poll that began within another verb (queue_poll_join): what that one replied. Moves
     * `reply` on to what it says of the poll. False: the poll is over without another callback. */
    bool (*on_joined)(struct poll *poll, enum err error, struct lines *reply);
};

/* What a verb needs to claim for a poll (lua/queue/complete.lua). */
struct poll_join {
    struct call_start start;
    struct str class, engine;
    uint64_t number;
};

/* Waits for the outcome of one query. Lives in its owner. One of a query that is being added has
 * the Seq 0: it hears on_changed for whatever happens to its topic's queries, since that may be its
 * own; once its Seq is known it is taken off and put on again. */
struct watch {
    struct watch *previous, *next;
    struct str topic; /* name; borrowed from the owner */
    uint64_t seq;     /* 0: not known yet */
    bool is_on;
    /* The outcome as text, valid inside the call only. The watch stays on. */
    void (*on_outcome)(struct watch *watch, struct str outcome);
    /* Something changed, or may have been missed: look again. */
    void (*on_changed)(struct watch *watch);
};

struct queue_config {
    const struct shard_map *map;
    const char *node_id;
    uint64_t lease_ms, delivery_ms, max_attempts, queue_max, rescan_ms;
    uint64_t fallback_ms; /* lua/queue/fallback.lua; 0: never */
    uint64_t retention_s; /* 0: forever */
    /* rescan_ms: 0: 5 s, of several shards 1 s. */
    /* An event that is not the queue's: its first line, and the lines after it. */
    void (*on_other_event)(void *arg, struct str kind, struct lines *rest);
    /* Scripts of that shard run (again). */
    void (*on_up)(void *arg, unsigned shard);
    void *arg;
};

/* Connects to Redis, and reconnects indefinitely. `config` is copied; what it points to, `loop` and
 * `metrics` are borrowed. All callbacks run on the loop's thread, those of the config never before
 * this returns. */
struct queue *queue_create(struct loop *loop, const struct queue_config *config,
                           struct metrics *metrics) must_check;
/* Verbs under way end with ERR_REDIS_LOST first, and so do polls that are claiming; parked ones and
 * watches hear nothing. Accepts NULL. */
void queue_destroy(struct queue *queue);
/* For verbs that are not the queue's; owned by the queue. */
struct shards *queue_shards(struct queue *queue);
/* What is wrong with the shard of that topic (name), as this node last heard; REDIS_FINE while it
 * works. */
enum redis_trouble queue_trouble(const struct queue *queue, struct str topic);
/* Servers in --redis. */
unsigned queue_server_n(const struct queue *queue);
/* The same of a server, by its place in --redis, from 0: of its first shard where something is. */
enum redis_trouble queue_server_trouble(const struct queue *queue, unsigned server);
/* No more than half of the shards have an outage, and of several the first one, which keeps what is
 * the whole cluster's, has been there once. */
bool queue_is_usable(const struct queue *queue);
/* How long a claim lasts without a sign of life. */
uint64_t queue_lease_ms(const struct queue *queue);

/* Of a poll that is for lookups, in place of models: no name holds it. */
#define LOOKUPS_OF_ALL STR("?")

/* Takes the next claim for an engine of that account (name), that serves `models` ("*", or names
 * joined by ','), or the next lookup (LOOKUPS_OF_ALL). Without `may_park` the poll ends at once
 * when there is nothing. `nonce`: of who polls, used up; NULL for none. With a used one nothing
 * happens but on_end(ERR_NONCE_USED). Its callbacks never run before this returns. */
void queue_poll_start(struct queue *queue, struct poll *poll, struct str account, struct str models,
                      struct nonce_id *nonce, bool may_park);
/* Of several shards: would such a poll look first on the shard that its nonce is of? Then it may be
 * started with it; else the nonce is to be used up before. */
bool queue_poll_fits_nonce(struct queue *queue, struct str account, struct str models,
                           const struct nonce_id *nonce, bool may_park);
/* As queue_poll_start, within a verb that the caller begins at once, with what is returned. False,
 * and nothing is begun, where the poll needs a call of its own: it may have to look at several
 * shards, or its account is drained. on_joined is called first. */
bool queue_poll_join(struct queue *queue, struct poll *poll, struct str account, struct str models,
                     struct nonce_id *nonce, bool may_park, struct poll_join *ret_join) must_check;
/* An engine (names) has said that it rests or leaves: that it polled before is not reported any
 * more. */
void queue_forget_engine(struct queue *queue, struct str account, struct str engine);
/* Ends the poll without a callback. */
void queue_poll_cancel(struct queue *queue, struct poll *poll);
/* Ends every poll that is parked, with on_end(ERR_OK). */
void queue_end_parked(struct queue *queue);

/* The claim reached its engine: its lease becomes a whole one. `topic`: of a lookup its
 * fingerprint. */
void queue_delivered(struct queue *queue, enum work work, struct str topic, struct str lease);
/* It did not: its queries are Open again at once, its lookup may be claimed. */
void queue_give_back(struct queue *queue, enum work work, struct str topic, struct str lease);
/* Tells Redis at once what queue_delivered collects for a moment: the node shuts down. */
void queue_tell_delivered(struct queue *queue);

/* Begins to listen for the outcome of the query that `watch` names; it does not look whether there
 * is one already: register, then look. */
void queue_watch(struct queue *queue, struct watch *watch);
/* Nothing happens when it is not on. */
void queue_unwatch(struct queue *queue, struct watch *watch);
/* Calls on_changed of every watch. */
void queue_each_watch(struct queue *queue);

/* Adds what may wait a moment to what is about to be sent. Before each turn_flush. */
void queue_before_flush(struct queue *queue);

/* A lookup was just added, and may have been handed over to a node that dies: what becomes of it is
 * looked after. Of queries that is done with their count. */
void queue_look_after_delivery(struct queue *queue);

/* Counts for rates and ETAs of that topic's shard: stated to Redis with the next sync. */
void queue_count_added(struct queue *queue, struct str topic);
void queue_count_done(struct queue *queue, struct str topic);

/* Hands one event of that shard to whom it concerns, as the bus and turns do. Public for its fuzz
 * target. */
void queue_on_event(struct queue *queue, unsigned shard, struct str event);

#endif
