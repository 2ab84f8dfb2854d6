/* SPDX-License-Identifier: MIT
 *
 * loop: the event loop of one thread: libh2o's loop with deadlines and a hook that runs at the end
 * of each pass (one round of events) and sends what the pass collected. A loop and everything
 * attached to it are used only on its thread, except loop_wake.
 *
 * A loop has no cached time: a callback runs after the loop has slept, so a time taken at the start
 * of the pass would be stale. Call clock_mono_ms() (a read of shared memory, about 25 ns).
 */
#ifndef PARLEY_OP_LOOP_H
#define PARLEY_OP_LOOP_H

#include "shared/base/clock.h"
#include "shared/base/list.h"
#include "shared/op/deadline.h"
#include "shared/op/passes.h"

#include <h2o.h>

/* Runs once, at the end of the pass in which it was scheduled, after on_pass_end; scheduled between
 * two passes, at the beginning of the next one. */
struct loop_task {
    void (*run)(struct loop_task *task);
    struct list_link link; /* linked: scheduled */
};

struct loop {
    h2o_loop_t *h2o;
    struct deadlines deadlines;
    struct passes passes; /* after the deadlines of each pass */
    void (*on_pass_end)(void *arg);
    void *pass_end_arg;
    struct list tasks;          /* struct loop_task, the next one first */
    void (*on_wake)(void *arg); /* runs on the loop's thread after loop_wake */
    void *wake_arg;
    h2o_socket_t *wake_socket;
    int wake_fd;
    bool is_done;
};

/* Set the hooks above after this call and before loop_run. Aborts if memory or descriptors run
 * out. */
void loop_init(struct loop *loop);
/* Call it once nothing is attached to the loop any more. */
void loop_fini(struct loop *loop);
/* Runs passes until loop_finish. */
void loop_run(struct loop *loop);
/* One pass, which waits for events for at most this long. */
void loop_run_once(struct loop *loop, uint64_t most_wait_ms);
/* Schedules `task`, which is borrowed until it runs, if it is not scheduled yet. */
void loop_schedule(struct loop *loop, struct loop_task *task);
static inline void loop_unschedule(struct loop_task *task)
{
    list_remove(&task->link);
}
/* Begins work that is done in steps (passes.h); steps_end ends it. */
static inline void loop_begin_steps(struct loop *loop, struct steps *steps)
{
    passes_begin(&loop->passes, steps);
}
/* Ends loop_run after the current pass. On the loop's thread. */
void loop_finish(struct loop *loop);
/* Schedules `on_wake`. Any thread, and async-signal-safe. */
void loop_wake(struct loop *loop);

/* Sets `d` to expire `after_ms` from now, not from the start of the pass. */
static inline void loop_set_deadline(struct loop *loop, struct deadline *d, uint64_t after_ms)
{
    deadline_set(&loop->deadlines, d, clock_mono_ms() + after_ms);
}
static inline void loop_cancel_deadline(struct loop *loop, struct deadline *d)
{
    deadline_cancel(&loop->deadlines, d);
}

#endif
