/* SPDX-License-Identifier: MIT
 * passes.c - see passes.h. */
#include "shared/op/passes.h"

#include "shared/base/clock.h"

void passes_begin(struct passes *passes, struct steps *steps)
{
    if (!steps_are_under_way(steps))
        list_append(&passes->turns, &steps->link);
}

/* It is off the list while its step runs, so that it may end itself, or its owner. */
void passes_run(struct passes *passes)
{
    uint64_t began_us = list_is_empty(&passes->turns) ? 0 : clock_thread_us() - passes->used_us;
    struct steps *steps;
    while ((steps = list_first(&passes->turns, struct steps, link)) != NULL) {
        steps_end(steps);
        if (steps->step(steps))
            passes_begin(passes, steps);
        if (clock_thread_us() - began_us >= PASS_US)
            break;
    }
    passes->used_us = 0;
}
