/* SPDX-License-Identifier: MIT
 *
 * slot: a slot works on one claim at a time. It consists of parts, each with its own header and
 * file; only that file writes the part's members (others read them and call its functions):
 *
 *   slot_poll     asks nodes for claims, and says that the slot leaves or rests
 *   slot_hold     the claim that is held, and the heartbeats that keep its lease
 *   slot_work     one query of the claim: searches passages, lets the back end write
 *   slot_text     what it writes, and the partial answers that nodes get of it
 *   slot_answer   gives the answer
 *   slot_release  gives the claim back
 *
 * slot.c has the state with its diagram and everything that involves several parts; a part that is
 * done calls it. One part calls another in this order only: work, answer, poll, release or text,
 * hold. Only files of this folder include it. Single thread: the engine's loop.
 */
#ifndef PARLEY_SERVICES_ENGINE_SLOTS_SLOT_H
#define PARLEY_SERVICES_ENGINE_SLOTS_SLOT_H

#include "services/engine/engine.h"
#include "services/engine/slots/slot_answer.h"
#include "services/engine/slots/slot_hold.h"
#include "services/engine/slots/slot_poll.h"
#include "services/engine/slots/slot_release.h"
#include "services/engine/slots/slot_text.h"
#include "services/engine/slots/slot_work.h"

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
    struct slot_poll poll;
    struct slot_hold hold;
    struct slot_work work;
    struct slot_text text;
    struct slot_answer answer;
    struct slot_release release;
};

enum { SLOT_QUERY_MAX_BYTES = 2048 };

void slot_move(struct slot *slot, enum slot_state to);
/* Ends all that works on the query at hand, except for heartbeats. */
void slot_end_work(struct slot *slot);
/* Ends the work and forgets the claim. */
void slot_end_claim(struct slot *slot);
/* Forgets the claim and pulls the next after a pause; or stops. */
void slot_go_idle(struct slot *slot, uint64_t after_ms);
/* Starts on the first query of the claim that is open; without one the claim ends. */
void slot_next_query(struct slot *slot);
/* Ends the query at work and continues with the next. */
void slot_finish_query(struct slot *slot, enum query_state state);
/* The text is whole, and all of it that does not fit into the answer was sent: gives that. */
void slot_give_answer(struct slot *slot, const struct completion_facts *facts);
/* A node refuses what must be sent before the answer: the query has failed. */
void slot_fail_query(struct slot *slot, const char *why);
/* Takes over a claim and starts on it; the slot holds none. */
void slot_take_claim(struct slot *slot, const struct claim *claim);
/* The claim is no longer ours: forgets it and pulls the next. */
void slot_drop_claim(struct slot *slot, const char *why);
/* That query needs no answer any more; ends the work on it if it is the one at work. */
void slot_drop_query(struct slot *slot, struct claim_query *query, const char *why);
/* The back end for the query at work. */
struct backend *slot_backend(const struct slot *slot);
/* Puts the parameter Engine: who this slot is. */
void slot_put_engine(struct slot *slot, struct buf *query);

#endif
