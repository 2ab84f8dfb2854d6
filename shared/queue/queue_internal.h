/* SPDX-License-Identifier: MIT
 *
 * queue_internal: what the files of shared/queue share: queue.c (life, events, timers), poll.c
 * (polls, classes, credits), deliver.c (claims confirmed or given back) and watch.c (who waits for
 * what). On the loop's thread.
 */
#ifndef PARLEY_QUEUE_QUEUE_INTERNAL_H
#define PARLEY_QUEUE_QUEUE_INTERNAL_H

#include "shared/queue/queue.h"

enum {
    CLASS_BUCKET_N = 256,
    WATCH_BUCKET_N = 4096,
    ENGINES_MAX = 256,
    ENGINES_REPORTED_MAX = 1024,
    DELIVERED_MAX = 256
};

/* A lease is looked after so long behind its end. */
enum { QUEUE_REAP_AFTER_MS = 20 };

struct poll_list {
    struct poll *first, *last;
    unsigned n;
};

/* Where a claim comes from, and whether it used up a credit there: else one is taken back. */
struct origin {
    unsigned shard;
    bool used_credit;
};

struct early {
    struct origin origin;
    struct buf text;
};

/* Polls that are alike to the scripts: one account, one list of models. Engines choose their lists,
 * so a class that nothing refers to any more is freed after the next sync. */
struct poll_class {
    struct queue *queue;
    struct poll_class *next;
    char *name; /* "<account>|<models>"; "<account>|?" of polls for lookups */
    size_t name_n, account_n;
    struct poll_list parked, claiming; /* oldest first */
    unsigned left_n;                   /* claims under way whose polls were cancelled meanwhile */
    enum work work;
    bool is_drained;     /* the account gets no claims: its polls are held without credit */
    struct early *early; /* hand-overs that came before the poll's own reply */
    unsigned early_n;
    uint64_t told;     /* shards that may hold credits of it, a bit each: none are stated, too */
    uint64_t hinted;   /* shards that hold its hint */
    uint64_t polled;   /* shards to which it is not stated yet that it polled, or got work there */
    unsigned moving_n; /* parked polls for which another shard is asked */
    unsigned rotor;    /* where the next poll begins to look */
    unsigned credit_n; /* of all shards; of a class that is not drained as many as are parked */
    unsigned *credits; /* by shard: what each may hand over */
    uint64_t *leases;  /* by shard: the latest claim there, until it is stated; 0: none */
};

/* An engine that polled since the last sync. */
struct engine_seen {
    char name[300]; /* "<account> <engine>" */
    char info[600];
};

/* When a sync last reported an engine of that name. */
struct engine_reported {
    uint32_t hash;
    uint64_t at_ms; /* 0: never, or it has left since */
};

/* A claim that reached its engine. */
struct delivered {
    enum work work;
    char *claim; /* "<lease> <topic>" or "<lease> <fingerprint>" */
};

/* What a node has for each shard. */
struct queue_shard {
    struct queue *queue;
    struct turn *turn;
    struct bus *bus;
    unsigned sync_bucket;                      /* of classes: where the next sync begins */
    struct delivered delivered[DELIVERED_MAX]; /* to be told together */
    unsigned delivered_n;
    uint64_t added_n, done_n;
    uint64_t synced_ms;           /* when the last sync was sent */
    uint64_t look_after_until_ms; /* leases that end before are looked after, however soon */
    struct deadline sync_timer, reap_timer, delivered_timer, purge_timer;
    struct call sync_call, reap_call, purge_call;
    bool is_counted; /* in METRIC_CONNECTED */
    uint64_t open_n; /* queries that are Open there, as far as is known; of several shards only */
    char purge_cursor[32];
};

struct queue {
    struct loop *loop;
    struct queue_config config;
    struct metrics *metrics;
    struct shards shards;      /* the turns of `parts` */
    struct queue_shard *parts; /* one per shard */
    struct poll_class *classes[CLASS_BUCKET_N];
    struct watch *watches[WATCH_BUCKET_N];
    unsigned adding_n; /* watches whose Seq is not known yet */
    uint64_t poll_n;
    struct engine_seen engines[ENGINES_MAX];
    uint32_t engine_hashes[ENGINES_MAX]; /* of their names */
    unsigned engine_n;
    struct engine_reported reported[ENGINES_REPORTED_MAX];
    uint64_t news_ms; /* the second in which syncs that report new engines are counted */
    unsigned news_n;
    struct str drained; /* names, ','; own memory */
};

uint32_t queue_hash(struct str s, uint64_t salt);

/* poll.c */
/* The connection of that shard's turn is lost. */
void polls_on_lost(struct queue *queue, unsigned shard);
/* Grants the credits that the class lacks: the next sync of their shards states them. */
void polls_grant_missing(struct poll_class *class);
/* Frees the classes without a poll, a claim or a credit. Never inside a poll's callback. */
void polls_forget_unused(struct queue *queue);
void polls_on_claim_event(struct queue *queue, struct origin origin, struct str claim_text);
/* A query for a model waits on that shard: one of our polls may take it. */
void polls_on_work(struct queue *queue, unsigned shard, struct lines *rest);
void polls_on_supersede(struct queue *queue, struct lines *rest);
void polls_on_drained(struct queue *queue, struct str names);
void polls_fini(struct queue *queue);

/* engines.c */
struct verb_writer;
/* One that polls, and whose nonce was good. */
void engines_note(struct queue *queue, const struct poll *poll);
/* Puts those that polled since the last sync into `verb`, the one that is being written. */
void engines_put(struct queue *queue, struct verb_writer *verb);

/* deliver.c */
void delivered_on_timer(struct deadline *deadline);
/* Confirms with the turn that is about to be sent, where it is time. */
void delivered_before_flush(struct queue_shard *part);
/* Confirms what was delivered of that shard. */
void delivered_tell(struct queue_shard *part);

/* queue.c */
static inline uint64_t shard_bit(unsigned shard)
{
    return UINT64_C(1) << shard;
}
static inline unsigned part_shard(const struct queue_shard *part)
{
    return (unsigned)(part - part->queue->parts);
}
/* The part that a topic (name) is of. */
struct queue_shard *queue_part(struct queue *queue, struct str topic);
/* No later than in that time: say that we are there (on every shard), and reap. */
void queue_sync_soon(struct queue *queue, uint64_t after_ms);
void part_reap_by(struct queue_shard *part, uint64_t after_ms);
/* A lease ends in that time which nobody else may look after. */
void part_look_after(struct queue_shard *part, uint64_t after_ms);

/* watch.c */
void watches_on_outcome(struct queue *queue, struct lines *rest);
void watches_on_changed(struct queue *queue, struct lines *rest);

#endif
