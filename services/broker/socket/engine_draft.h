/* SPDX-License-Identifier: MIT
 *
 * engine_draft: one answer that an engine is writing over its socket: the text that is not stored
 * yet, and the nodes that show it. engine_drafts.h has those of a socket. A draft is in its list
 * until engine_draft_drop or engine_draft_refuse, which free it. On the loop's thread.
 */
#ifndef PARLEY_BROKER_ENGINE_DRAFT_H
#define PARLEY_BROKER_ENGINE_DRAFT_H

#include "shared/queue/shown.h"

enum {
    DRAFT_LEASE_BYTES = 24,
    DRAFT_TEXT_MAX = 1 << 20, /* as the route stores at most */
    DRAFT_STORE_MS = 250      /* between two stores */
};

struct engine_drafts;

/* Leases are digits, `topic_json` is as the engine sent it. */
struct engine_drafts_events {
    /* A draft is stored up to `next`. */
    void (*on_stored)(struct engine_drafts *drafts, struct str topic_json, uint64_t seq,
                      struct str lease, uint64_t next);
    /* The same, for a frame with an Id (JSON). */
    void (*on_acknowledged)(struct engine_drafts *drafts, struct str id, uint64_t seq,
                            struct str lease, uint64_t next);
    /* A draft is given up, and stored up to `offset` at most: the route knows why. `id`: of a frame
     * that has no answer yet (JSON), or "". */
    void (*on_refused)(struct engine_drafts *drafts, struct str topic_json, uint64_t seq,
                       struct str lease, uint64_t offset, struct str id);
    /* clogged_n has changed, or text_n is less. */
    void (*on_clogged)(struct engine_drafts *drafts);
};

/* Zeroed, except the members that are borrowed. */
struct engine_drafts {
    struct queue *queue;
    const struct engine_drafts_events *events;
    struct str holder; /* the engine's account, a name */
    struct list list;  /* struct engine_draft */
    unsigned n;
    size_t text_n;        /* bytes of all, not stored */
    uint64_t interval_ms; /* between two pieces of an answer: Redis is slow; 0: none */
    unsigned clogged_n;   /* with so much unstored text that the engine has to wait */
};

/* A partial answer, as a frame says it. Texts are decoded. */
struct draft_frame {
    struct str lease, topic_json, id; /* id: as JSON, or "" */
    uint64_t seq, offset;
    struct str think, answer;
};

/* Text of one kind that is not stored. */
struct run {
    bool is_answer;
    size_t n;
};

struct engine_draft {
    struct list_link link;
    struct engine_drafts *all;
    struct shower shower; /* once it is open */
    struct call call;
    struct deadline store_by;
    char lease_bytes[DRAFT_LEASE_BYTES];
    struct str lease;         /* in them */
    char *topic, *topic_json; /* topic: a name; NULL: its route has not read it yet */
    uint64_t seq;
    uint64_t claim;     /* 0: PRIMING */
    unsigned priming_n; /* pieces that went the way of the route and are under way */
    bool keeps;         /* the only one of these follows what was stored: what comes next waits */
    uint64_t stored;    /* the offset; with `keeps` as it will be */
    uint64_t stored_at_ms, store_began_ms;
    struct buf text; /* from `stored` on */
    struct run *runs;
    size_t run_n;
    size_t storing_n, storing_run_n; /* bytes and runs that are being stored: they do not grow */
    struct buf nodes;                /* that show it, each with a space after it */
    struct buf acks;                 /* Ids that are answered when `text` is stored, as lines */
    bool is_clogged;
};

/* The last store took so long: sets interval_ms. */
void engine_draft_note_store(struct engine_drafts *drafts, uint64_t took_ms);

/* A new one of that frame, in the list. */
struct engine_draft *engine_draft_create(struct engine_drafts *drafts,
                                         const struct draft_frame *frame);
void engine_draft_drop(struct engine_draft *d);
/* A piece goes the way of its route: nothing is shown or stored before that is answered. */
void engine_draft_prime(struct engine_draft *d, const struct draft_frame *frame);
/* All such pieces are stored: text is shown before it is stored from now on, what has waited
 * first. */
void engine_draft_open(struct engine_draft *d, uint64_t claim);
/* The nodes that show it, by spaces. */
void engine_draft_set_nodes(struct engine_draft *d, struct str nodes);
/* Takes text, which follows all that it has. `id`: answered once it is stored, or "". */
void engine_draft_append(struct engine_draft *d, struct str think, struct str answer,
                         struct str id);
/* Begins to store all that is not, waits for nothing, and counts it as stored. */
void engine_draft_store_now(struct engine_draft *d);
/* Gives it up. Every frame with an Id gets its answer; without one there is an answer only with
 * `has_news`. */
void engine_draft_refuse(struct engine_draft *d, bool has_news);

#endif
