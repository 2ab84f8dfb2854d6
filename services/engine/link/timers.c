/* SPDX-License-Identifier: MIT
 * timers.c - see timers.h. */
#include "services/engine/link/timers.h"

#include "shared/base/clock.h"

void timer_stop(struct timer *timer)
{
    if (timer->in == NULL)
        return;
    struct timer **at = &timer->in->first;
    while (*at != timer)
        at = &(*at)->next;
    *at = timer->next;
    timer->in = NULL;
}

void timer_set(struct timers *timers, struct timer *timer, uint64_t after_ms)
{
    timer_stop(timer);
    timer->at_ms = clock_mono_ms() + after_ms;
    struct timer **at = &timers->first;
    while (*at != NULL && (*at)->at_ms <= timer->at_ms)
        at = &(*at)->next;
    timer->next = *at;
    timer->in = timers;
    *at = timer;
}

void timers_run(struct timers *timers)
{
    /* A timer that is set again while it fires waits for the next run, even with no delay. */
    struct timer *due = NULL, **tail = &due;
    uint64_t now_ms = clock_mono_ms();
    struct timers run = {NULL};
    while (timers->first != NULL && timers->first->at_ms <= now_ms) {
        struct timer *timer = timers->first;
        timers->first = timer->next;
        timer->next = NULL;
        timer->in = &run;
        *tail = timer;
        tail = &timer->next;
    }
    run.first = due;
    while (run.first != NULL) {
        struct timer *timer = run.first;
        timer_stop(timer);
        timer->fire(timer->context);
    }
}

int timers_wait_ms(const struct timers *timers, int max_ms)
{
    uint64_t now_ms = clock_mono_ms();
    if (timers->first == NULL)
        return max_ms;
    if (timers->first->at_ms <= now_ms)
        return 0;
    uint64_t left_ms = timers->first->at_ms - now_ms;
    return left_ms < (uint64_t)max_ms ? (int)left_ms : max_ms;
}
