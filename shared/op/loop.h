/* SPDX-License-Identifier: MIT
 *
 * loop: one thread's event loop: libh2o's, plus deadlines, plus a hook at the end of every turn
 * (one round of events), where what the turn collected is sent. Everything hanging on a loop is
 * used on its thread only, except loop_wake.
 *
 * A loop keeps no time of its own: a callback runs after the loop has slept, so what the clock said
 * when the last turn began is old by then. Ask clock_mono_ms() (a read of shared memory, some 25
 * ns).
 */
#ifndef PARLEY_OP_LOOP_H
#define PARLEY_OP_LOOP_H

#include "shared/base/clock.h"
#include "shared/op/deadline.h"

#include <h2o.h>

struct loop {
    h2o_loop_t *h2o;
    struct deadlines deadlines;
    void (*on_turn_end)(void *arg);
    void *turn_end_arg;
    void (*on_wake)(void *arg); /* runs on the loop's thread after loop_wake */
    void *wake_arg;
    h2o_socket_t *wake_socket;
    int wake_fd;
    bool is_done;
};

/* The hooks above are set after it, before loop_run. Aborts without memory or descriptors. */
void loop_init(struct loop *loop);
/* Once nothing hangs on it any more. */
void loop_fini(struct loop *loop);
/* Runs turns until loop_finish. */
void loop_run(struct loop *loop);
/* Ends loop_run after the current turn. On the loop's thread. */
void loop_finish(struct loop *loop);
/* Makes `on_wake` run soon. Any thread, and async-signal-safe. */
void loop_wake(struct loop *loop);

/* Lets `d` expire once `after_ms` have passed from now, not from the start of the turn. */
static inline void loop_set_deadline(struct loop *loop, struct deadline *d, uint64_t after_ms)
{
    deadline_set(&loop->deadlines, d, clock_mono_ms() + after_ms);
}
static inline void loop_cancel_deadline(struct loop *loop, struct deadline *d)
{
    deadline_cancel(&loop->deadlines, d);
}

#endif
