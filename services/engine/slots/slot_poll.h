/* SPDX-License-Identifier: MIT
 *
 * slot_poll: a part of a slot (slot.h): asks the nodes for claims, and says to them that the slot
 * leaves or rests.
 */
#ifndef PARLEY_SERVICES_ENGINE_SLOTS_SLOT_POLL_H
#define PARLEY_SERVICES_ENGINE_SLOTS_SLOT_POLL_H

#include "services/engine/link/link.h"
#include "services/engine/link/timers.h"

struct slot;

struct slot_poll {
    struct link_call *call;       /* of POLLING */
    struct link_call *away_call;  /* reports that it leaves or rests, which ends the parked poll */
    struct timer timer;           /* of IDLE: the next poll; of POLLING: see slot_poll_end_soon */
    struct backoff backoff;       /* of the nodes */
    struct backoff early_backoff; /* of polls that end early with nothing */
    bool is_held_up;              /* IDLE, until slot_wake */
    uint64_t rest_told_ms;        /* the end of the rest that was reported to its node last */
};

void slot_poll_init(struct slot *slot);
void slot_poll_fini(struct slot *slot);
/* Polls, unless the engine rests. */
void slot_poll_nodes(struct slot *slot);
/* The same after a pause. */
void slot_poll_after(struct slot *slot, uint64_t after_ms);
/* Ends the poll, or the wait for it. */
void slot_poll_cancel(struct slot *slot);
/* The slot stops: cancels a parked poll that does not end within a moment. */
void slot_poll_end_soon(struct slot *slot);
/* Reports that this slot leaves or rests. This ends a parked poll properly: if it were just
 * cancelled, a claim on its way would be lost until its lease ends. */
void slot_poll_say_away(struct slot *slot);
/* A claim is kept while the engine rests: its node gets to know, when that is worth a request. */
void slot_poll_say_rest(struct slot *slot, uint64_t after_ms);
/* Puts the parameters that get-new-queries and Next have in common. */
void slot_poll_put_query(struct slot *slot, struct buf *query);

#endif
