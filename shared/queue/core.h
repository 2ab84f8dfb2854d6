/* SPDX-License-Identifier: MIT
 *
 * core: shared by the files of shared/queue: the node's queue and its part of each shard, with its
 * connections, the timers by which it acts there, and counters. State that only one file needs is
 * in a table of that file, and the others call its functions. On the loop's thread.
 *
 * Each file calls only those above it:
 *
 *     core           this; lines and row read and write texts
 *     poll_class     polls that are equal for the scripts, and lists of polls
 *     poll_credits   parked polls, each a credit on one shard
 *     watch, deliver, engines, settings, outbox, engines_check, vacancy
 *     poll_handover  a claim goes to the oldest poll of its class
 *     poll_move      a parked poll claims on a shard other than that of its credit
 *     poll           a poll claims or parks
 *     poll_report    what a sync says of the polls
 *     timers         sync, reap, purge
 *     events         life of the queue, and what scripts notify it of
 *
 * question, follow and view are users of the interface, queue.h.
 */
#ifndef PARLEY_QUEUE_CORE_H
#define PARLEY_QUEUE_CORE_H

#include "shared/base/mem.h"
#include "shared/queue/queue.h"

/* Delay after the end of a lease before it is reaped. */
enum { QUEUE_REAP_AFTER_MS = 20 };

/* The state of a node for each shard. */
struct queue_shard {
    struct queue *queue;
    unsigned number;
    struct turn *turn;
    struct bus *bus;
    bool was_up;                            /* once, since the node started */
    uint64_t added_n, done_n;               /* since the last sync */
    struct deadline sync_timer, reap_timer; /* set by the functions below; they run in timers.c */
    uint64_t covered_until_ms;              /* leases that end before this are already covered */
    unsigned sync_bucket;                   /* of classes: where the next sync begins */
    uint64_t open_n; /* queries that are Open there, as far as is known; of several shards only */
    /* It has requested a poll, none could move at once, and none has claimed there since. The reply
     * of a turn that ran before the query was added may arrive after that request and say that
     * nothing is Open. */
    bool is_called;
};

struct queue {
    struct loop *loop;
    struct queue_config config;
    struct metrics *metrics;
    struct shards shards;      /* the turns of `parts` */
    struct queue_shard *parts; /* one per shard */
    bool is_counted;           /* in METRIC_CONNECTED */
    uint64_t poll_n;           /* that have begun */
    /* Each of the file of its name. */
    struct classes *classes;
    struct moves *moves;
    struct engines *engines;
    struct deliveries *deliveries;
    struct watches *watches;
    struct outboxes *outboxes;
    struct settings *settings;
    struct showers *showers; /* shown.h */
    struct timers *timers;
    struct vacancies *vacancies;
};

static inline uint64_t shard_bit(unsigned shard)
{
    return UINT64_C(1) << shard;
}

/* For tables by texts and numbers; 0: by texts alone. */
uint32_t queue_hash(struct str s, uint64_t salt);

/* The part of a topic (name). */
struct queue_shard *queue_part(struct queue *queue, struct str topic);
/* Returns whether its connections are up. */
bool part_is_up(const struct queue_shard *part);
/* The same, and Redis works. */
bool part_is_usable(const struct queue_shard *part);
/* REDIS_FINE while it works. */
enum redis_trouble part_trouble(const struct queue_shard *part);

/* Within that time the node reports that it is alive, and reaps. */
void part_sync_by(struct queue_shard *part, uint64_t after_ms);
void part_reap_by(struct queue_shard *part, uint64_t after_ms);
/* Notes that a lease ends in that time, because no other node may be watching it. */
void part_cover_leases(struct queue_shard *part, uint64_t after_ms);

#endif
