/* SPDX-License-Identifier: MIT
 *
 * slot_work: a part of a slot (slot.h): the work on one query of its claim: search passages, let
 * the back end write. What is written is slot_text's, and given by slot_answer.
 */
#ifndef PARLEY_SERVICES_ENGINE_SLOTS_SLOT_WORK_H
#define PARLEY_SERVICES_ENGINE_SLOTS_SLOT_WORK_H

#include "services/engine/link/timers.h"
#include "services/engine/models/prompt.h"

struct completion;
struct library_lookup;
struct slot;

struct slot_work {
    struct claim_query *query; /* the one at work; NULL between queries */
    struct prompt prompt;
    struct library_lookup *lookup;
    struct completion *completion;
    struct timer timer; /* of GENERATING without a completion: the end of a short rest */
    uint64_t started_ms;
    uint64_t kept_until_ms; /* how long the query may wait for the model; 0: not yet */
};

void slot_work_init(struct slot *slot);
/* Starts on a query of the claim; there is none at work. */
void slot_work_begin(struct slot *slot, struct claim_query *query);
/* Ends what is under way and forgets the query. */
void slot_work_end(struct slot *slot);

#endif
