/* SPDX-License-Identifier: MIT
 *
 * queue_internal: shared by the files of shared/queue: queue.c (lifecycle, events), timers.c,
 * poll*.c (polls, see polls.h), engines.c, deliver.c (confirming and returning claims) and watch.c
 * (waiters). On the loop's thread.
 */
#ifndef PARLEY_QUEUE_QUEUE_INTERNAL_H
#define PARLEY_QUEUE_QUEUE_INTERNAL_H

#include "shared/queue/queue.h"

enum {
    CLASS_BUCKET_N = 256,
    WATCH_BUCKET_N = 4096,
    ENGINES_MAX = 256,
    ENGINES_REPORTED_MAX = 1024,
    DELIVERED_BUCKET_N = 1024,
    WORK_CALLS_MAX = 16,
    DIFFERENCES_MAX_BYTES = 8192
};

/* Delay after the end of a lease before it is reaped. */
enum { QUEUE_REAP_AFTER_MS = 20 };

/* A shard's request for a poll, while this node does not know yet whether it has one. */
struct work_call {
    unsigned shard;
    uint64_t until;  /* polls up to this number were claiming when it came */
    struct buf text; /* model / how often it was passed on / nodes that had no poll */
};

/* What an engine does, as far as this node has seen since the last sync of its home. */
enum seen { SEEN_WAITING, SEEN_WORKING, SEEN_BEAT, SEEN_LEFT };
struct engine_seen {
    unsigned shard; /* its home */
    enum seen what;
    uint64_t for_ms; /* how long it may last without another word */
    uint64_t poll;   /* SEEN_LEFT: which */
    char name[600];  /* "<account> <engine>": names of 128 and 64 bytes, of three letters a byte */
    char models[520];
    char process[200]; /* a name; "": it says none */
};

/* When a sync last reported an engine of that name, or a class of that name last polled. */
struct engine_reported {
    uint32_t hash;
    uint64_t at_ms; /* 0: never, or it has left since */
};

/* A claim that reached its engine and is not confirmed yet: in the list of its shard, oldest first,
 * and in a bucket of its queue. */
struct delivered {
    h2o_linklist_t link;
    struct delivered *next; /* of its bucket */
    struct queue_shard *part;
    enum work work;
    uint64_t lease, since_ms;
    uint64_t connection; /* on which it went; 0: not known */
    uint32_t stream;     /* of HTTP/2; else 0 */
    /* Both are in `text`. */
    struct str claim;  /* "<lease> <topic>" or "<lease> <fingerprint>" */
    struct str record; /* what its lease's key says; empty for a lookup */
    char text[];
};

/* What a node has for each shard. */
struct queue_shard {
    struct queue *queue;
    struct turn *turn;
    struct bus *bus;
    unsigned sync_bucket;     /* of classes: where the next sync begins */
    h2o_linklist_t delivered; /* to be confirmed together */
    unsigned delivered_n;
    uint64_t added_n, done_n;
    uint64_t synced_ms;           /* when the last sync was sent */
    uint64_t look_after_until_ms; /* leases that end before this are already covered */
    struct deadline sync_timer, reap_timer, delivered_timer, purge_timer;
    struct call sync_call, reap_call, purge_call, outbox_call;
    unsigned engine_n;    /* of queue->engines, those whose home it is */
    bool was_up;          /* once, since the node started */
    bool outbox_has_news; /* since its outbox was asked for */
    /* It has requested a poll, none could move at once, and none has looked there since. The reply
     * of a turn that ran before the query was added may arrive after that request and say that
     * nothing is Open. */
    bool is_called;
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
    struct delivered *delivered[DELIVERED_BUCKET_N]; /* by lease */
    unsigned adding_n;                               /* watches whose Seq is not known yet */
    uint64_t poll_n;
    struct work_call calls[WORK_CALLS_MAX]; /* poll_move.c */
    unsigned call_n;
    struct engine_seen engines[ENGINES_MAX];
    uint32_t engine_hashes[ENGINES_MAX]; /* of their names */
    unsigned engine_n;
    bool is_counted; /* in METRIC_CONNECTED */
    bool has_left;   /* queue_leave */
    struct engine_reported reported[ENGINES_REPORTED_MAX];
    uint64_t news_ms; /* the second in which syncs that report new engines are counted */
    unsigned news_n;
    struct vacancies *vacancies; /* vacancy.h */
    struct str drained;          /* names, ','; own memory */
    struct buf differences;      /* settings.c; as lines */
    bool have_differed;          /* in the last sync, too */
};

uint32_t queue_hash(struct str s, uint64_t salt);

/* engines.c */
struct verb_writer;
/* Records what an engine does whose poll had a valid nonce. */
void engines_note(struct queue *queue, const struct poll *poll, enum seen what);
/* Puts those that polled since the last sync, and whose home that shard is, into `verb`, the one
 * that is being written. */
void engines_put(struct queue_shard *part, struct verb_writer *verb);

/* deliver.c */
void delivered_init(struct queue_shard *part);
void delivered_fini(struct queue_shard *part);
/* Adds due confirmations to the turn that is about to be sent. */
void delivered_before_flush(struct queue_shard *part);
/* Reports that shard's delivered claims. */
void delivered_report(struct queue_shard *part);

/* queue.c */
static inline uint64_t shard_bit(unsigned shard)
{
    return UINT64_C(1) << shard;
}
static inline unsigned part_shard(const struct queue_shard *part)
{
    return (unsigned)(part - part->queue->parts);
}
/* The part of a topic (name). */
struct queue_shard *queue_part(struct queue *queue, struct str topic);
/* Its connections stand. */
bool part_is_up(const struct queue_shard *part);
/* The same, and Redis works. */
bool part_is_usable(const struct queue_shard *part);

/* settings.c */
/* Compares what a sync's reply says of other nodes' settings with this node's. */
void settings_compare(struct queue *queue, struct lines *lines);

/* timers.c */
/* Within that time: report that this node is alive (on every shard), and reap. */
void queue_sync_soon(struct queue *queue, uint64_t after_ms);
void part_sync_by(struct queue_shard *part, uint64_t after_ms);
void part_reap_by(struct queue_shard *part, uint64_t after_ms);
/* A lease ends in that time, and no other node may be watching it. */
void part_look_after(struct queue_shard *part, uint64_t after_ms);
void timers_init(struct queue_shard *part);
void timers_fini(struct queue_shard *part);
/* outbox.c: only with several shards. */
/* Takes work that the shard has left for another shard and does it there. */
void outbox_look(struct queue_shard *part);

/* watch.c */
/* Calls on_changed of every watch whose topic is of that shard. */
void watches_look_again(struct queue *queue, unsigned shard);
void watches_on_outcome(struct queue *queue, struct lines *rest);
void watches_on_changed(struct queue *queue, struct lines *rest);

#endif
