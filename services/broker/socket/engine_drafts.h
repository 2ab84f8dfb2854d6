/* SPDX-License-Identifier: MIT
 *
 * engine_drafts: answers that engines are writing over a socket. The first piece of each goes the
 * way of its route and is stored at once. What follows is shown to the nodes that wait for the
 * query first (shared/queue/shown.h), and stored every 250 ms, with 4 KiB, and with the end. What a
 * node that dies has not stored, the engine sends again.
 *
 *   PRIMING --the first pieces are stored--> OPEN --its claim has ended, or the socket--> gone
 *
 * In the socket's memory; on the loop's thread.
 */
#ifndef PARLEY_BROKER_ENGINE_DRAFTS_H
#define PARLEY_BROKER_ENGINE_DRAFTS_H

#include "shared/queue/shown.h"

struct engine_draft;
struct engine_drafts;

/* Leases are digits, `topic_json` is as the engine sent it. */
struct engine_drafts_events {
    /* A draft is stored up to `next`. */
    void (*on_stored)(struct engine_drafts *drafts, struct str topic_json, uint64_t seq,
                      struct str lease, uint64_t next);
    /* The same, for a frame with an Id (JSON). */
    void (*on_acknowledged)(struct engine_drafts *drafts, struct str id, struct str lease,
                            uint64_t next);
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

/* The last store took so long: sets interval_ms. */
void engine_drafts_note_store(struct engine_drafts *drafts, uint64_t took_ms);

/* A partial answer, as a frame says it. Texts are decoded. */
struct draft_frame {
    struct str lease, topic_json, id; /* id: as JSON, or "" */
    uint64_t seq, offset;
    struct str think, answer;
};

/* Stores what is not, and forgets all. */
void engine_drafts_fini(struct engine_drafts *drafts);

/* Takes the frame. Returns false if it must go the way of its route. */
bool engine_drafts_take(struct engine_drafts *drafts, const struct draft_frame *frame) must_check;
/* Called before it goes. If it returns true, engine_drafts_on_stored gets the answer. */
bool engine_drafts_prime(struct engine_drafts *drafts, const struct draft_frame *frame) must_check;
/* `topic` (a name), `claim` and `nodes` (by spaces) as the route found them; claim 0: it was
 * refused. */
void engine_drafts_on_stored(struct engine_drafts *drafts, struct str lease, uint64_t seq,
                             struct str topic, uint64_t claim, uint64_t next, struct str nodes);
/* Before an answer, or when a claim has ended: stores what is not (`is_kept`), and forgets the
 * drafts of that claim; with a `seq` that one only. */
void engine_drafts_end(struct engine_drafts *drafts, struct str lease, uint64_t seq, bool is_kept);

#endif
