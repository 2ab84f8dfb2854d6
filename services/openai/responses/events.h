/* SPDX-License-Identifier: MIT
 *
 * events: a response made of the deltas of a chat: its items, and the events of its stream. Events
 * and their numbers follow from the deltas and their cuts alone, so every node gives the same ones.
 * Only the first choice is read. What engines send is read leniently: a member of the wrong kind is
 * left out. In its owner; single thread.
 *
 *   created, queued, in_progress, items, then completed, incomplete or failed
 *
 * A call of a function ends with the response, because the pieces of several may alternate; other
 * items end where the next one begins.
 */
#ifndef PARLEY_SERVICES_OPENAI_RESPONSES_EVENTS_H
#define PARLEY_SERVICES_OPENAI_RESPONSES_EVENTS_H

#include "services/openai/responses/give.h"

/* The texts that `events` has are borrowed. */
void events_fini(struct events *events);
/* created and queued. `position`: in the queue, 0 for the first; or -1. */
void events_open(struct events *events, int64_t position);
/* `delta`: a chunk of a chat, or a whole completion (`message` in the place of `delta`). */
void events_add(struct events *events, struct str delta);
/* Ends the items, and the stream. `finish_reason`: of an engine that said it beside its deltas;
 * n == 0: "stop". */
void events_end(struct events *events, struct str finish_reason);
/* Forgets all but what it began with, and the events that were given. */
void events_clear(struct events *events);
/* Ends the stream with an error: both of JSON, escaped. Before events_open it is an `error`. Its
 * number is later than `after`, since the pieces of what has failed are gone. */
void events_fail(struct events *events, struct str code, struct str message);
/* Puts the response as it is after events_end. */
void events_put_response(const struct events *events, struct buf *b);
/* Puts its items alone, a comma between them. */
void events_put_output(const struct events *events, struct buf *b);
/* Puts a response without items: queued, in_progress or cancelled; or failed, with `code` and
 * `message`. */
void events_put_state(const struct events *events, struct buf *b, const char *status,
                      struct str code, struct str message);

#endif
