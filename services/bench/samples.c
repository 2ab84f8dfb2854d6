/* SPDX-License-Identifier: MIT
 * samples.c - see samples.h. */
#include "services/bench/samples.h"

#include "shared/base/mem.h"

#include <math.h>

void bench_samples_fini(struct bench_samples *samples)
{
    free(samples->at);
    *samples = (struct bench_samples){0};
}

void bench_samples_put(struct bench_samples *samples, int64_t value_us)
{
    samples->at = mem_grow(samples->at, samples->n, sizeof *samples->at);
    samples->at[samples->n++] = value_us;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void bench_samples_sort(struct bench_samples *samples)
{
    if (samples->n > 0)
        qsort(samples->at, samples->n, sizeof *samples->at, compare);
}

int64_t bench_samples_quantile(const struct bench_samples *samples, double q)
{
    if (samples->n == 0)
        return 0;
    double rank = ceil(q * (double)samples->n);
    size_t i = rank < 1 ? 0 : (size_t)rank - 1;
    return samples->at[i < samples->n ? i : samples->n - 1];
}
