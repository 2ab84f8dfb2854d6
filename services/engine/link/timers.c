/* SPDX-License-Identifier: MIT
 * timers.c - see timers.h. */
#include "services/engine/link/timers.h"

#include "shared/base/clock.h"

void timer_stop(struct timer *timer)
{
    list_remove(&timer->link);
}

void timer_set(struct timers *timers, struct timer *timer, uint64_t after_ms)
{
    timer_stop(timer);
    timer->at_ms = clock_mono_ms() + after_ms;
    list_for_each (struct timer, other, &timers->list, link)
        if (other->at_ms > timer->at_ms) {
            list_insert(&other->link, &timer->link);
            return;
        }
    list_append(&timers->list, &timer->link);
}

static struct timer *first_of(const struct list *list)
{
    return list_first(list, struct timer, link);
}

void timers_run(struct timers *timers)
{
    /* A timer that is set again while it fires waits for the next run, even with no delay. */
    struct list due = {0};
    struct timer *timer;
    uint64_t now_ms = clock_mono_ms();
    while ((timer = first_of(&timers->list)) != NULL && timer->at_ms <= now_ms) {
        timer_stop(timer);
        list_append(&due, &timer->link);
    }
    while ((timer = first_of(&due)) != NULL) {
        timer_stop(timer);
        timer->fire(timer->context);
    }
}

int timers_wait_ms(const struct timers *timers, int max_ms)
{
    uint64_t now_ms = clock_mono_ms();
    const struct timer *first = first_of(&timers->list);
    if (first == NULL)
        return max_ms;
    if (first->at_ms <= now_ms)
        return 0;
    uint64_t left_ms = first->at_ms - now_ms;
    return left_ms < (uint64_t)max_ms ? (int)left_ms : max_ms;
}
