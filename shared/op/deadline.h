/* SPDX-License-Identifier: MIT
 *
 * deadline: timers of any duration for one loop, in a binary heap (libh2o's own timeout lists
 * have one fixed duration each). A `struct deadline` lives in its owner; starting and cancelling
 * cost O(log n) and no allocation beyond the heap's growth. One heap per loop, used on the loop's
 * thread only.
 */
#ifndef PARLEY_OP_DEADLINE_H
#define PARLEY_OP_DEADLINE_H

#include "shared/base/container_of.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed is a valid, unset deadline. */
struct deadline {
    uint64_t at_ms; /* on clock_mono_ms */
    size_t place;   /* 1-based place in the heap; 0: not set */
    /* Runs once, on the loop's thread, at or after `at_ms`. The deadline is already unset, so the
     * callback may set it again or free it. */
    void (*on_expire)(struct deadline *deadline);
};

/* With a copy of its time: owners are anywhere in memory, and reading those on the way would cost
 * more than moving the entries. */
struct deadline_entry {
    uint64_t at_ms;
    struct deadline *deadline;
};

struct deadlines {
    struct deadline_entry *heap;
    size_t n;
};

void deadlines_fini(struct deadlines *all);
/* Sets `d`, or moves it if it is already set. */
void deadline_set(struct deadlines *all, struct deadline *d, uint64_t at_ms);
/* Unsets `d`; does nothing if it is not set. */
void deadline_cancel(struct deadlines *all, struct deadline *d);
static inline bool deadline_is_set(const struct deadline *d)
{
    return d->place != 0;
}
/* Milliseconds until the first deadline: 0 if it is due, `most_ms` if it is later or none is
 * set. */
uint64_t deadlines_wait_ms(const struct deadlines *all, uint64_t now_ms, uint64_t most_ms);
/* Runs all deadlines that are due at `now_ms`. */
void deadlines_run(struct deadlines *all, uint64_t now_ms);

#endif
