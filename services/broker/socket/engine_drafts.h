/* SPDX-License-Identifier: MIT
 *
 * engine_drafts: answers that engines are writing over a socket. The first piece of each goes the
 * way of its route and is stored at once; what follows meanwhile waits. Then text is shown to the
 * nodes that wait for the query first (shared/queue/shown.h), and stored every 250 ms, with 4 KiB,
 * and with the end. What a node that dies has not stored, the engine sends again.
 *
 *   PRIMING --the first piece is stored--> OPEN --its claim has ended, or the socket--> gone
 *
 * In the socket's memory; on the loop's thread.
 */
#ifndef PARLEY_BROKER_ENGINE_DRAFTS_H
#define PARLEY_BROKER_ENGINE_DRAFTS_H

#include "services/broker/socket/engine_draft.h"

/* Stores what is not, and forgets all. */
void engine_drafts_fini(struct engine_drafts *drafts);

/* Takes the frame. Returns false if it must go the way of its route. */
bool engine_drafts_take(struct engine_drafts *drafts, const struct draft_frame *frame) must_check;
/* Called before it goes. If it returns true, engine_drafts_on_stored gets the answer. */
bool engine_drafts_prime(struct engine_drafts *drafts, const struct draft_frame *frame) must_check;
/* The route has begun with it: the topic's name. */
void engine_drafts_note_topic(struct engine_drafts *drafts, const struct draft_frame *frame,
                              struct str topic);
/* `claim` and `nodes` (by spaces) as the route found them; claim 0: it was
 * refused. */
void engine_drafts_on_stored(struct engine_drafts *drafts, struct str lease, uint64_t seq,
                             uint64_t claim, uint64_t next, struct str nodes);
/* Before an answer, or when a claim has ended: stores what is not (`is_kept`), and forgets the
 * drafts of that claim; with a `seq` that one only. */
void engine_drafts_end(struct engine_drafts *drafts, struct str lease, uint64_t seq, bool is_kept);

#endif
