/* SPDX-License-Identifier: MIT
 *
 * clock: this machine's clocks. Only for deadlines and durations: times that are stored or compared
 * between nodes come from Redis (TIME inside scripts).
 */
#ifndef PARLEY_BASE_CLOCK_H
#define PARLEY_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_mono_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}
static inline uint64_t clock_mono_ms(void)
{
    return clock_mono_us() / 1000u;
}
/* Processor time that the calling thread has used: a system call. */
static inline uint64_t clock_thread_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}
/* Since 1970, for log lines and token lifetimes. */
static inline uint64_t clock_wall_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}
static inline uint64_t clock_wall_s(void)
{
    return clock_wall_ms() / 1000u;
}

#endif
