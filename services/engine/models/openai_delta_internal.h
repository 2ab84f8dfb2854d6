/* SPDX-License-Identifier: MIT
 *
 * openai_delta_internal: the parts that openai_delta.c shares with openai_delta_split.c. Only they
 * include it.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_OPENAI_DELTA_INTERNAL_H
#define PARLEY_SERVICES_ENGINE_MODELS_OPENAI_DELTA_INTERNAL_H

#include "services/engine/models/openai_delta.h"

/* They take `value` over and abort if there is no memory, which NULL stands for. */
void delta_set(json_t *object, const char *name, json_t *value);
void delta_append(json_t *list, json_t *value);
json_t *delta_text(struct str text) must_check;

/* Writes a delta and hands it on. Returns false if it is too large or refused. */
bool delta_hand_on(struct delta_maker *maker, const json_t *delta) must_check;
/* Hands it on in deltas that are each short enough, as far as texts and lists of logprobs can be
 * cut. Consumes its members. */
bool delta_split(struct delta_maker *maker, json_t *delta) must_check;

#endif
