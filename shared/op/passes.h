/* SPDX-License-Identifier: MIT
 *
 * passes: work of a loop that takes longer than its other work should wait. It is done in steps,
 * which take turns: each pass of the loop spends PASS_US of the thread's processor time on steps,
 * and the one that reaches that is the pass's last. A member of struct loop, used on its thread.
 *
 *     loop_begin_steps(loop, &search->steps);    search->steps.step = search_some;
 */
#ifndef PARLEY_OP_PASSES_H
#define PARLEY_OP_PASSES_H

#include "shared/base/list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PASS_US = 5000 };

/* In its owner's memory; zeroed is valid, and not under way. */
struct steps {
    /* Does a part, of a few milliseconds at most. Returns whether something is left to do. When it
     * returns false, its owner may be gone. */
    bool (*step)(struct steps *steps);
    struct list_link link; /* linked: under way */
};

struct passes {
    struct list turns; /* struct steps, the next one first */
    uint64_t used_us;  /* of the pass that continues */
};

static inline bool steps_are_under_way(const struct steps *steps)
{
    return list_is_linked(&steps->link);
}
/* Steps run from the next pass on. Does nothing if it is under way. */
void passes_begin(struct passes *passes, struct steps *steps);
/* No further step runs. Does nothing if it is not under way. */
static inline void steps_end(struct steps *steps)
{
    list_remove(&steps->link);
}
/* For callbacks that do long work at once: whether the pass has time left for it, ... */
static inline bool passes_have_time(const struct passes *passes)
{
    return passes->used_us < PASS_US;
}
/* ... and that it took this long. */
static inline void passes_use(struct passes *passes, uint64_t us)
{
    passes->used_us += us;
}
/* The end of a pass: one step at least, if there is work. */
void passes_run(struct passes *passes);

#endif
