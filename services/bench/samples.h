/* SPDX-License-Identifier: MIT
 *
 * samples: measured durations in microseconds, kept one by one so that quantiles are exact. Signed,
 * because a consumer can have a query before its producer has the response. Owned by its holder.
 */
#ifndef PARLEY_BENCH_SAMPLES_H
#define PARLEY_BENCH_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

struct bench_samples {
    int64_t *at;
    size_t n;
};

void bench_samples_fini(struct bench_samples *samples);
void bench_samples_put(struct bench_samples *samples, int64_t value_us);
/* Sorts them, for bench_samples_quantile. */
void bench_samples_sort(struct bench_samples *samples);
/* The value that the share `q` (0 to 1) of all samples does not exceed; 0 without samples. */
int64_t bench_samples_quantile(const struct bench_samples *samples, double q);

#endif
