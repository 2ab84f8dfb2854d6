/* SPDX-License-Identifier: MIT
 *
 * slot_hold: a part of a slot (slot.h): the claim that it holds, and the heartbeats that keep the
 * claim's lease. A partial answer that a node took renews the lease too, and puts the heartbeat
 * off. Replies to heartbeats report cancelled queries and a lost lease.
 */
#ifndef PARLEY_SERVICES_ENGINE_SLOTS_SLOT_HOLD_H
#define PARLEY_SERVICES_ENGINE_SLOTS_SLOT_HOLD_H

#include "services/engine/link/link.h"
#include "services/engine/link/timers.h"
#include "services/engine/slots/claim.h"

struct slot;

struct slot_hold {
    struct claim claim;
    uint64_t until_ms;      /* the end of its lease, as far as we know */
    struct link_call *call; /* a heartbeat */
    struct timer timer;     /* the next one */
    struct backoff backoff;
};

void slot_hold_init(struct slot *slot);
/* Takes `claim` over; there is none. */
void slot_hold_take(struct slot *slot, const struct claim *claim);
/* Stops the heartbeats and forgets the claim, if there is one. */
void slot_hold_end(struct slot *slot);
/* Heartbeats at a third of the lease, from now until stop_beats. */
void slot_hold_start_beats(struct slot *slot);
void slot_hold_stop_beats(struct slot *slot);
/* A node has renewed the lease. */
void slot_hold_note_renewal(struct slot *slot);
/* As claim_end_query and claim_note_answer. */
void slot_hold_end_query(struct slot *slot, struct claim_query *query, enum query_state state);
void slot_hold_note_answer(struct slot *slot, const struct claim_query *query, struct str answer);
/* The member Lease, with a comma before it; nothing without a lease. */
void slot_hold_put_lease(const struct slot *slot, struct buf *body);

#endif
