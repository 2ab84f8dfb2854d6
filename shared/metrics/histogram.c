/* SPDX-License-Identifier: MIT
 * histogram.c - see histogram.h. Each value has one writer, its thread, so a load and a store do.
 */
#include "shared/metrics/histogram.h"

#include <stdatomic.h>

const struct histogram_bounds histogram_short = {16,
                                                 {{50, "0.00005"},
                                                  {100, "0.0001"},
                                                  {200, "0.0002"},
                                                  {400, "0.0004"},
                                                  {800, "0.0008"},
                                                  {1600, "0.0016"},
                                                  {3200, "0.0032"},
                                                  {6400, "0.0064"},
                                                  {12800, "0.0128"},
                                                  {25600, "0.0256"},
                                                  {51200, "0.0512"},
                                                  {102400, "0.1024"},
                                                  {204800, "0.2048"},
                                                  {409600, "0.4096"},
                                                  {819200, "0.8192"},
                                                  {1638400, "1.6384"}}};

const struct histogram_bounds histogram_long = {16,
                                                {{5000, "0.005"},
                                                 {10000, "0.01"},
                                                 {25000, "0.025"},
                                                 {50000, "0.05"},
                                                 {100000, "0.1"},
                                                 {250000, "0.25"},
                                                 {500000, "0.5"},
                                                 {1000000, "1"},
                                                 {2500000, "2.5"},
                                                 {5000000, "5"},
                                                 {10000000, "10"},
                                                 {30000000, "30"},
                                                 {60000000, "60"},
                                                 {120000000, "120"},
                                                 {300000000, "300"},
                                                 {600000000, "600"}}};

const struct histogram_bounds histogram_verb = {10,
                                                {{100, "0.0001"},
                                                 {250, "0.00025"},
                                                 {500, "0.0005"},
                                                 {1000, "0.001"},
                                                 {2500, "0.0025"},
                                                 {5000, "0.005"},
                                                 {10000, "0.01"},
                                                 {25000, "0.025"},
                                                 {100000, "0.1"},
                                                 {1000000, "1"}}};

static void add(_Atomic int64_t *value, int64_t delta)
{
    atomic_store_explicit(value, atomic_load_explicit(value, memory_order_relaxed) + delta,
                          memory_order_relaxed);
}

void histogram_observe(struct histogram *histogram, const struct histogram_bounds *bounds,
                       uint64_t took_us)
{
    unsigned bucket = 0;
    while (bucket < bounds->n && took_us > bounds->at[bucket].us)
        bucket++;
    add(&histogram->counts[bucket], 1);
    add(&histogram->sum_us, (int64_t)took_us);
}

void histogram_sum_add(struct histogram_sum *sum, const struct histogram *histogram,
                       const struct histogram_bounds *bounds)
{
    for (unsigned i = 0; i <= bounds->n; i++) {
        int64_t n = atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
        sum->counts[i] += n;
        sum->n += n;
    }
    sum->sum_us += atomic_load_explicit(&histogram->sum_us, memory_order_relaxed);
}

void histogram_put(struct buf *b, const char *name, const char *label,
                   const struct histogram_sum *sum, const struct histogram_bounds *bounds)
{
    const char *comma = label[0] == 0 ? "" : ",";
    const char *open = label[0] == 0 ? "" : "{", *close = label[0] == 0 ? "" : "}";
    int64_t total = 0;
    for (unsigned i = 0; i <= bounds->n; i++) {
        total += sum->counts[i];
        buf_printf(b, "%s_bucket{%s%sle=\"%s\"} %lld\n", name, label, comma,
                   i < bounds->n ? bounds->at[i].seconds : "+Inf", (long long)total);
    }
    buf_printf(b, "%s_sum%s%s%s %.6f\n", name, open, label, close, (double)sum->sum_us / 1e6);
    buf_printf(b, "%s_count%s%s%s %lld\n", name, open, label, close, (long long)total);
}
