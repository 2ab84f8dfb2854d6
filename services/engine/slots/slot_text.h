/* SPDX-License-Identifier: MIT
 *
 * slot_text: a part of a slot (slot.h): the text of the answer while the back end writes it, and
 * the partial answers that nodes get of it. A failed partial is harmless: the next one includes its
 * text, and the answer includes everything. Deltas for a client of a door are not all in the
 * answer: it waits until the others were sent, and a node that lacks some says so.
 */
#ifndef PARLEY_SERVICES_ENGINE_SLOTS_SLOT_TEXT_H
#define PARLEY_SERVICES_ENGINE_SLOTS_SLOT_TEXT_H

#include "services/engine/link/link.h"
#include "services/engine/link/timers.h"
#include "services/engine/models/backend.h"
#include "services/engine/slots/draft.h"

struct slot;

struct slot_text {
    struct draft draft;
    struct link_call *call; /* a partial answer, by its route */
    uint64_t stored;        /* of what went over the socket: up to here the node has it */
    struct timer timer;     /* the next one */
    struct backoff backoff;
    bool is_whole; /* the back end has ended, with these facts */
    struct completion_facts facts;
    bool is_streaming; /* the last one went over the socket, so the next need not wait */
    uint64_t interval_ms, socket_interval_ms; /* between two, as nodes ask for */
    uint64_t at_ms, offset;                   /* of the last one */
};

void slot_text_init(struct slot *slot);
void slot_text_fini(struct slot *slot);
/* Forgets what nodes said of the claim before. */
void slot_text_new_claim(struct slot *slot);
/* Adds what the back end wrote. False: there is no room for more. */
bool slot_text_add(struct slot *slot, struct str think, struct str answer) must_check;
/* The same of a delta, for a client of a door. */
bool slot_text_add_delta(struct slot *slot, struct str delta) must_check;
/* The back end has ended: sends the answer, after the deltas that do not fit into it. */
void slot_text_finish(struct slot *slot, const struct completion_facts *facts);
/* The node that got the answer lacks deltas from `offset` on: after a pause sends them, and then
 * the answer again. */
void slot_text_send_again(struct slot *slot, uint64_t offset, uint64_t after_ms);
/* No more partial answers; the text stays. */
void slot_text_stop(struct slot *slot);
/* The same without the text. */
void slot_text_clear(struct slot *slot);

#endif
