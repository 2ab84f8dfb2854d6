/* SPDX-License-Identifier: MIT
 *
 * messages_delta: makes deltas for the clients of Anthropic's interface out of what a model server
 * sends that has it (ADR 102): its events, without `ping` and message_stop, or the events that a
 * whole message would have been. message_start is handed on with the first event of a block, so
 * that what was only begun can begin again elsewhere. Single thread; in its owner's storage.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_MESSAGES_DELTA_H
#define PARLEY_SERVICES_ENGINE_MODELS_MESSAGES_DELTA_H

#include "services/engine/models/openai_delta_put.h"

struct messages_maker {
    struct delta_sink sink;
    json_t *start;         /* that waits; NULL: none */
    size_t block_n;        /* that have begun */
    struct half_join half; /* of the last one's text */
    bool is_disordered;    /* what came are no events of a message */
};

void messages_maker_init(struct messages_maker *maker, delta_callback on_delta, void *context);
/* Accepts a zeroed one. */
void messages_maker_fini(struct messages_maker *maker);
/* Takes an event or a message. `is_repaired`: it comes out of repair_json. Returns false if a delta
 * was refused or is too large, or if `is_disordered`. The callback runs inside. */
bool messages_maker_feed(struct messages_maker *maker, const json_t *json,
                         bool is_repaired) must_check;

#endif
