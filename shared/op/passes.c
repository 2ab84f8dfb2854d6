/* SPDX-License-Identifier: MIT
 * passes.c - see passes.h. */
#include "shared/op/passes.h"

#include "shared/base/clock.h"

void passes_begin(struct passes *passes, struct steps *steps)
{
    struct steps *first = passes->first;
    if (steps_are_under_way(steps))
        return;
    if (first == NULL) {
        passes->first = steps->next = steps->previous = steps;
        return;
    }
    steps->next = first;
    steps->previous = first->previous;
    steps->next->previous = steps->previous->next = steps;
}

void passes_end(struct passes *passes, struct steps *steps)
{
    if (!steps_are_under_way(steps))
        return;
    if (passes->first == steps)
        passes->first = steps->next == steps ? NULL : steps->next;
    steps->next->previous = steps->previous;
    steps->previous->next = steps->next;
    steps->next = steps->previous = NULL;
}

/* It is off the list while its step runs, so that it may end itself, or its owner. */
void passes_run(struct passes *passes)
{
    uint64_t began_us = passes->first == NULL ? 0 : clock_thread_us() - passes->used_us;
    while (passes->first != NULL) {
        struct steps *steps = passes->first;
        passes_end(passes, steps);
        if (steps->step(steps))
            passes_begin(passes, steps);
        if (clock_thread_us() - began_us >= PASS_US)
            break;
    }
    passes->used_us = 0;
}
