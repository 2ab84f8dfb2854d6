/* SPDX-License-Identifier: MIT
 *
 * timers: one-shot timers of the engine's loop, a sorted list: an engine has a few per slot. A
 * timer is in its holder's storage and must be stopped before that is freed. Single thread.
 */
#ifndef PARLEY_SERVICES_ENGINE_LINK_TIMERS_H
#define PARLEY_SERVICES_ENGINE_LINK_TIMERS_H

#include "shared/base/list.h"
#include "shared/base/str.h"

struct timer {
    struct list_link link; /* linked: it is set */
    uint64_t at_ms;
    void (*fire)(void *context);
    void *context;
};

struct timers {
    struct list list; /* struct timer, the next one first */
};

/* Fires once after `after_ms`, never before this returns; a set timer is moved. */
void timer_set(struct timers *timers, struct timer *timer, uint64_t after_ms);
void timer_stop(struct timer *timer);
/* Fires what is due. */
void timers_run(struct timers *timers);
/* Milliseconds to the next timer, at most `max_ms`. */
int timers_wait_ms(const struct timers *timers, int max_ms);

#endif
