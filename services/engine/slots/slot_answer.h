/* SPDX-License-Identifier: MIT
 *
 * slot_answer: a part of a slot (slot.h): gives the answer to the query at work, until a node takes
 * it or refuses it for good, and asks for the next claim with the last answer of a claim.
 */
#ifndef PARLEY_SERVICES_ENGINE_SLOTS_SLOT_ANSWER_H
#define PARLEY_SERVICES_ENGINE_SLOTS_SLOT_ANSWER_H

#include "services/engine/link/link.h"
#include "services/engine/link/timers.h"
#include "services/engine/models/backend.h"

struct slot;

struct slot_answer {
    struct link_call *call;
    struct timer timer; /* the next try */
    struct backoff backoff, gap_backoff;
    bool has_asked_next; /* an earlier try of this answer asked for the next claim */
    struct completion_facts facts;
};

void slot_answer_init(struct slot *slot);
/* The text is whole: gives it, with these facts, which are copied. */
void slot_answer_start(struct slot *slot, const struct completion_facts *facts);
void slot_answer_cancel(struct slot *slot);

#endif
