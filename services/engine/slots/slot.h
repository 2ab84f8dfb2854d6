/* SPDX-License-Identifier: MIT
 *
 * slot: the inside of a slot, shared by slot.c (the way of a claim), slot_work.c (the work on one
 * of its queries) and slot_report.c (what is told to the nodes meanwhile: partial answers and
 * heartbeats). Nobody else includes it.
 */
#ifndef PARLEY_SERVICES_ENGINE_SLOTS_SLOT_H
#define PARLEY_SERVICES_ENGINE_SLOTS_SLOT_H

#include "services/engine/engine.h"
#include "services/engine/slots/claim.h"
#include "services/engine/slots/draft.h"

enum slot_state {
    SLOT_IDLE,       /* before the start, and between a failure and the next poll */
    SLOT_POLLING,    /* get-new-queries is on its way, maybe parked */
    SLOT_SEARCHING,  /* the library looks for passages */
    SLOT_GENERATING, /* the back end writes */
    SLOT_ANSWERING,  /* give-new-answer is on its way, or waits for another try */
    SLOT_RELEASING,  /* release-claim, the same */
    SLOT_STOPPED,
    SLOT_NR
};

struct slot {
    struct engine *engine;
    unsigned number;
    enum slot_state state;
    bool is_stopping;

    struct link_call *call;       /* of POLLING, ANSWERING, RELEASING */
    struct link_call *end_call;   /* says that it leaves or rests, which ends the parked poll */
    struct timer timer;           /* the next try of what the state does */
    struct backoff backoff;       /* of the nodes */
    struct backoff early_backoff; /* of polls that end early with nothing */

    struct claim claim;
    struct claim_query *query; /* the one at work; NULL between queries */
    struct prompt prompt;
    struct library_lookup *lookup;
    struct completion *completion;
    struct draft draft;
    uint64_t started_ms, lease_until_ms;
    bool has_asked_next; /* an earlier try of this answer asked for the next claim */
    bool release_retry, release_is_away; /* of the release: see release-claim */
    bool is_held_up;                     /* IDLE, until slot_wake */
    uint64_t rest_told_ms; /* the end of the rest that was reported to its node last */
    uint64_t
        kept_until_ms; /* of the query at work: how long it may wait for the model; 0: not yet */
    unsigned tries;    /* of the back end, for the query at work */
    char reason[400];  /* of the release */
    char refusal[400]; /* why a query of the claim can never work; "" */

    struct link_call *beat_call, *partial_call;
    struct timer beat_timer, partial_timer;
    struct backoff beat_backoff, partial_backoff;
    uint64_t partial_interval_ms, partial_at_ms, partial_offset;
};

enum { SLOT_QUERY_MAX_BYTES = 2048 };

/* slot.c */

/* Ends all that works on the query at hand, except for heartbeats. */
void slot_end_work(struct slot *slot);
/* Ends the work and forgets the claim. */
void slot_end_claim(struct slot *slot);
/* Forgets the claim and pulls the next after a pause; or stops. */
void slot_go_idle(struct slot *slot, uint64_t after_ms);
/* The same while the engine rests; the node gets to know when that is worth a request. */
void slot_rest_with_claim(struct slot *slot, uint64_t after_ms);
/* Another try of what the state does, after a pause. */
void slot_wait(struct slot *slot, uint64_t after_ms);
/* Gives the claim back: for another try, or as failed. */
void slot_release(struct slot *slot, bool is_retry, const char *reason);
/* Ends a claim that could only be rescued (claim_rescue) as failed. */
void slot_fail_unreadable(struct slot *slot, const char *reason);
/* Gives it back without using an attempt up: the engine stops, or its model is away. */
void slot_release_unused(struct slot *slot, const char *reason);
/* What get-new-queries and Next have in common. */
void slot_put_poll_query(struct slot *slot, struct buf *query);
/* Starts on the claim that was just put into the slot. */
void slot_take_claim(struct slot *slot);
/* The claim is no longer ours: forgets it and pulls the next. */
void slot_drop_claim(struct slot *slot, const char *why);
/* That query needs no answer any more; ends the work on it if it is the one at work. */
void slot_drop_query(struct slot *slot, struct claim_query *query, const char *why);

/* slot_work.c */

/* Starts on the first query that is open; without one the claim ends. */
void work_next_query(struct slot *slot);
void work_generate(struct slot *slot);
void work_send_answer(struct slot *slot);

/* slot_report.c */

/* Heartbeats at a third of the lease, from now until report_stop. */
void report_start(struct slot *slot);
void report_stop(struct slot *slot);
/* There is new text in the draft. */
void report_text(struct slot *slot);
/* Partials end; heartbeats go on. */
void report_text_end(struct slot *slot);
void report_init(struct slot *slot);

#endif
