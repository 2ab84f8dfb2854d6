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

enum rest_state { REST_GOOD, REST_RESTING, REST_CHECKING, REST_PROBING, REST_NR };

/* Settings; everything that they point to is borrowed. */
struct rest_config {
    struct timers *timers;
    struct backend *backend;
    /* A rest begins: slots that poll must stop, and report to their nodes for how long. */
    void (*on_begin)(void *context);
    /* Slots that were held up may poll, or rest for longer. */
    void (*on_change)(void *context);
    void *context;
};

struct rest {
    struct rest_config config;
    enum rest_state state;
    unsigned failures;
    uint64_t until_ms; /* of RESTING */
    const void *probe; /* of PROBING: the slot that may poll; NULL: the first that wants to */
    struct timer timer;
    struct backend_check *check;
    char reason[REST_REASON_MAX_BYTES + 1];
};

void rest_init(struct rest *rest, const struct rest_config *config);
/* Accepts a zeroed one. */
void rest_fini(struct rest *rest);

/* The server said that it is busy or away. `retry_after_s`: 0 when it did not say for how long.
 * on_begin runs, except while a longer rest is under way. */
void rest_begin(struct rest *rest, uint64_t retry_after_s, const char *reason);
/* It has answered: on_change runs. */
void rest_end(struct rest *rest);
/* Returns how long a slot that has work should wait before it asks the server; 0: not at all. */
uint64_t rest_left_ms(const struct rest *rest);
/* Returns whether that slot may ask for work; on_change runs when that changes. */
bool rest_may_poll(struct rest *rest, const void *slot) must_check;

#endif
