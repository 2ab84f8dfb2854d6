/* SPDX-License-Identifier: MIT
 *
 * slot_release: a part of a slot (slot.h): gives the claim back, for another try or as failed.
 */
#ifndef PARLEY_SERVICES_ENGINE_SLOTS_SLOT_RELEASE_H
#define PARLEY_SERVICES_ENGINE_SLOTS_SLOT_RELEASE_H

#include "services/engine/link/link.h"
#include "services/engine/link/timers.h"
#include "services/engine/slots/claim.h"

enum { RELEASE_REASON_BYTES = 400 };

struct slot;

struct slot_release {
    struct link_call *call;
    struct timer timer; /* the next try */
    struct backoff backoff;
    bool is_retry, is_away; /* see release-claim */
    uint64_t failed_seq;    /* the one query that failed; 0: the whole claim comes back */
    json_t *error;          /* for the client of a door; NULL: the reason is all */
    char reason[RELEASE_REASON_BYTES];
};

void slot_release_init(struct slot *slot);
/* The attempt of the query at work has failed: gives the claim back for another try. */
void slot_release_failed(struct slot *slot, const char *reason);
/* The query at work can never be answered: gives it back as failed, and continues with the others
 * of the claim. `error`: see completion_end; may be NULL. */
void slot_release_query(struct slot *slot, const char *reason, const json_t *error);
/* Gives it back without using an attempt up: the engine stops, or its model is away. */
void slot_release_unused(struct slot *slot, const char *reason);
/* Takes over a claim that could only be rescued (claim_rescue) and ends it as failed: it would come
 * back to every engine in turn. The slot holds none. */
void slot_release_unreadable(struct slot *slot, const struct claim *claim, const char *reason);
/* Sends what waited for `may_give_back`, unless it is under way. */
void slot_release_go_on(struct slot *slot);
void slot_release_cancel(struct slot *slot);

#endif
