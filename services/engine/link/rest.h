/* SPDX-License-Identifier: MIT
 *
 * rest: pauses all slots of the engine while the model server is busy or unreachable. Its
 * Retry-After is honoured up to REST_MAX_S; without one the rests grow, with jitter. After a rest,
 * the server's list of models is requested if that shows whether it is back; then a single slot
 * polls. Only an answer ends the rest for all slots.
 *
 *   GOOD --begin--> RESTING --time--> CHECKING --it is there--> PROBING --answer--> GOOD
 *                      ^                 | away                    | begin
 *                      +-----------------+-------------------------+
 *
 *   RESTING --begin, for longer--> RESTING; RESTING, CHECKING --answer to a slot at work--> GOOD
 *
 * One per engine, single thread: the engine's loop.
 */
#ifndef PARLEY_SERVICES_ENGINE_LINK_REST_H
#define PARLEY_SERVICES_ENGINE_LINK_REST_H

#include "services/engine/models/backend.h"

enum { REST_MAX_S = 600, REST_REASON_MAX_BYTES = 200 };

struct engine;
struct slot;

enum rest_state { REST_GOOD, REST_RESTING, REST_CHECKING, REST_PROBING, REST_NR };

struct rest {
    struct engine *engine;
    enum rest_state state;
    unsigned failures;
    uint64_t until_ms; /* of RESTING */
    const struct slot
        *probe; /* of PROBING: the slot that may poll; NULL: the first that wants to */
    struct timer timer;
    struct backend_check *check;
    char reason[REST_REASON_MAX_BYTES + 1];
};

void rest_init(struct rest *rest, struct engine *engine);
void rest_fini(struct rest *rest);

/* The server said that it is busy or away. `retry_after_s`: 0 when it did not say for how long.
 * Slots that poll are asked to stop (slot_rest). */
void rest_begin(struct rest *rest, uint64_t retry_after_s, const char *reason);
/* It has answered: wakes all slots. */
void rest_end(struct rest *rest);
/* How long a slot that has work should wait before it asks the server; 0: not at all. */
uint64_t rest_left_ms(const struct rest *rest);
/* Whether a slot may ask for work. A slot that may not is woken (slot_wake) when that changes. */
bool rest_may_poll(struct rest *rest, const struct slot *slot) must_check;

#endif
