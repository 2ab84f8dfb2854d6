/* SPDX-License-Identifier: MIT
 *
 * openai_delta_put: hands deltas (openai_delta.h, messages_delta.h) on as JSON texts, and cuts
 * those that are too long. Pure, single thread.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_OPENAI_DELTA_PUT_H
#define PARLEY_SERVICES_ENGINE_MODELS_OPENAI_DELTA_PUT_H

#include "services/engine/models/api.h"
#include "services/engine/models/repair.h"
#include "shared/base/json.h"

/* The longest delta. */
enum { DELTA_MAX_BYTES = 256 << 10 };

/* Takes a delta, a JSON text. Return false to refuse it and end the work. */
typedef bool (*delta_callback)(void *context, struct str delta);

struct delta_sink {
    enum api api;
    delta_callback on_delta;
    void *context;
};

/* Hands a delta on, as several if it is too long. Takes members out of it. Returns false if one was
 * refused, or is too long although its texts and logprobs were cut. */
bool delta_put(const struct delta_sink *sink, json_t *delta) must_check;

/* Hands a delta on as it is. Returns false if it was refused, or is too long. */
bool delta_hand_on(const struct delta_sink *sink, const json_t *delta) must_check;
bool delta_fits(const json_t *delta) must_check;
/* Cuts a piece that fits off the front of a text, between characters. */
struct str delta_cut(struct str *rest);

/* Joins the halves of characters in a text of `object` (repair.h). `half`: of this text, from one
 * delta to the next. */
void delta_join_half(json_t *object, const char *name, struct half_join *half, bool is_repaired);
/* Returns a copy without the marks of repair_json. */
json_t *delta_clean(const json_t *value) must_check;

/* They take `value` over, and abort if it is NULL: there was no memory for it. */
void delta_set(json_t *object, const char *name, json_t *value);
void delta_append(json_t *list, json_t *value);
json_t *delta_text(struct str text) must_check;

#endif
