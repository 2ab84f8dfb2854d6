/* SPDX-License-Identifier: MIT
 *
 * openai_delta: makes deltas for the clients of a door out of what a model server sends: chunks of
 * a stream, or a whole response. A delta is a chunk reduced to its choices and usage, and what
 * servers do differently is made alike:
 *
 *   each choice has its index, a finish_reason that is null until the end and comes once, and a
 *   delta (chat) or a text (completions); a whole message becomes a delta, unless it repeats others
 *   each tool call has its index, at first its id and type, and arguments that are a string of JSON
 *   "stop" after tool calls is "tool_calls"; a finish_reason that is missing at the end is put
 *
 * Everything else in a choice is left as it came. Single thread; in its owner's storage.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_OPENAI_DELTA_H
#define PARLEY_SERVICES_ENGINE_MODELS_OPENAI_DELTA_H

#include "services/engine/models/openai_delta_put.h"
#include "services/engine/models/repair.h"

struct delta_choice;

struct delta_maker {
    struct delta_sink sink;       /* for CHAT or COMPLETIONS */
    size_t choice_max;            /* of others nothing is handed on */
    struct delta_choice *choices; /* by index */
    size_t choice_n;
};

/* Any number of choices is expected, within reason: lower `choice_max` if fewer were asked for. */
void delta_maker_init(struct delta_maker *maker, enum api api, delta_callback on_delta,
                      void *context);
/* Accepts a zeroed one. */
void delta_maker_fini(struct delta_maker *maker);
/* Takes a chunk or a response. `is_repaired`: it comes out of repair_json. Returns false if a delta
 * was refused or is too large. The callback runs inside. */
bool delta_maker_feed(struct delta_maker *maker, const json_t *json, bool is_repaired) must_check;
/* Returns whether there were choices, and each has its finish_reason. */
bool delta_maker_has_ended(const struct delta_maker *maker);
/* The response is whole: puts the finish_reasons that never came. */
bool delta_maker_finish(struct delta_maker *maker) must_check;

#endif
