/* SPDX-License-Identifier: MIT
 *
 * slot_release: a part of a slot (slot.h): gives the claim back, for another try or as failed.
 */
#ifndef PARLEY_SERVICES_ENGINE_SLOTS_SLOT_RELEASE_H
#define PARLEY_SERVICES_ENGINE_SLOTS_SLOT_RELEASE_H

#include "services/engine/link/link.h"
#include "services/engine/link/timers.h"
#include "services/engine/slots/claim.h"

struct slot;

struct slot_release {
    struct link_call *call;
    struct timer timer; /* the next try */
    struct backoff backoff;
    bool is_retry, is_away; /* see release-claim */
    char reason[CLAIM_REFUSAL_BYTES];
};

void slot_release_init(struct slot *slot);
/* Gives the claim back: for another try, or as failed. */
void slot_release_claim(struct slot *slot, bool is_retry, const char *reason);
/* Gives it back without using an attempt up: the engine stops, or its model is away. */
void slot_release_unused(struct slot *slot, const char *reason);
/* Takes over a claim that could only be rescued (claim_rescue) and ends it as failed: it would come
 * back to every engine in turn. The slot holds none. */
void slot_release_unreadable(struct slot *slot, const struct claim *claim, const char *reason);
/* What waited for `may_give_back` is sent, unless it is under way. */
void slot_release_go_on(struct slot *slot);
void slot_release_cancel(struct slot *slot);

#endif
