/* SPDX-License-Identifier: MIT
 *
 * histogram: how long something took, counted in buckets, as Prometheus reads it. Each thread has
 * its own and is the only one that writes it, with relaxed stores; any thread may read. An
 * observation finds its bucket in a short list and writes two numbers.
 */
#ifndef PARLEY_METRICS_HISTOGRAM_H
#define PARLEY_METRICS_HISTOGRAM_H

#include "shared/base/buf.h"

enum { HISTOGRAM_BUCKETS_MAX = 16 };

/* Upper bounds, rising; a value equal to a bound belongs to its bucket. */
struct histogram_bounds {
    unsigned n;
    struct {
        uint64_t us;
        const char *seconds; /* the same, as the label `le` shows it */
    } at[HISTOGRAM_BUCKETS_MAX];
};

/* 50 us to 1.6 s, doubling: requests, round trips. */
extern const struct histogram_bounds histogram_short;
/* 5 ms to 10 minutes: what waits for an engine or a model. */
extern const struct histogram_bounds histogram_long;
/* 100 us to 1 s in ten steps: verbs, of which there are many. */
extern const struct histogram_bounds histogram_verb;

struct histogram {
    _Atomic int64_t sum_us;
    _Atomic int64_t counts[HISTOGRAM_BUCKETS_MAX + 1]; /* the last one: above all bounds */
};

void histogram_observe(struct histogram *histogram, const struct histogram_bounds *bounds,
                       uint64_t took_us);

/* The sum of several threads' histograms; zeroed storage is empty. */
struct histogram_sum {
    int64_t sum_us, n;
    int64_t counts[HISTOGRAM_BUCKETS_MAX + 1];
};
void histogram_sum_add(struct histogram_sum *sum, const struct histogram *histogram,
                       const struct histogram_bounds *bounds);
/* Puts the lines `name_bucket`, `name_sum` and `name_count`. `label`: "verb=\"add\"", or "". */
void histogram_put(struct buf *b, const char *name, const char *label,
                   const struct histogram_sum *sum, const struct histogram_bounds *bounds);

#endif
