/* SPDX-License-Identifier: MIT
 * metrics.c - see metrics.h. Each value has one writer, its thread, so a load and a store do. */
#include "shared/metrics/metrics.h"

#include "shared/base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *kind, *help;
} table[METRIC_NR] = {
#define X(name, text, kind, help) [METRIC_##name] = {text, kind, help},
    METRICS_TABLE(X)
#undef X
};

/* Upper bounds in microseconds: 50 us, then doubling. */
static uint64_t bound_us(unsigned bucket)
{
    return 50ull << bucket;
}

static struct metrics *first;
static struct str (*verb_name)(unsigned verb);
static unsigned verb_n;

void metrics_register(struct metrics *metrics)
{
    metrics->next = first;
    first = metrics;
}

static void add(_Atomic int64_t *value, int64_t delta)
{
    atomic_store_explicit(value, atomic_load_explicit(value, memory_order_relaxed) + delta,
                          memory_order_relaxed);
}

void metrics_add(struct metrics *metrics, enum metric metric, int64_t delta)
{
    add(&metrics->values[metric], delta);
}

void metrics_set(struct metrics *metrics, enum metric metric, int64_t value)
{
    atomic_store_explicit(&metrics->values[metric], value, memory_order_relaxed);
}

void metrics_count_request(struct metrics *metrics, int status, uint64_t duration_us,
                           bool was_parked)
{
    metrics_add(metrics,
                status >= 500   ? METRIC_REQUESTS_5XX
                : status >= 400 ? METRIC_REQUESTS_4XX
                                : METRIC_REQUESTS_2XX,
                1);
    if (was_parked)
        return;
    unsigned bucket = 0;
    while (bucket < METRICS_BUCKET_N && duration_us > bound_us(bucket))
        bucket++;
    add(&metrics->buckets[bucket], 1);
    add(&metrics->duration_us, (int64_t)duration_us);
}

void metrics_name_verbs(struct str (*name_of)(unsigned verb), unsigned n)
{
    verb_name = name_of;
    verb_n = n < METRICS_VERBS_MAX ? n : METRICS_VERBS_MAX;
}

bool metrics_look_at_verb(const struct metrics *metrics, unsigned verb, struct verb_view *ret_view)
{
    if (verb >= verb_n)
        return false;
    const struct verb_counts *counts = &metrics->verbs[verb];
    *ret_view = (struct verb_view){
        .name = verb_name(verb),
        .calls = (uint64_t)atomic_load_explicit(&counts->calls, memory_order_relaxed),
        .errors = (uint64_t)atomic_load_explicit(&counts->errors, memory_order_relaxed),
        .took_us = (uint64_t)atomic_load_explicit(&counts->took_us, memory_order_relaxed)};
    return true;
}

void metrics_count_verb(struct metrics *metrics, unsigned verb, bool is_error, uint64_t took_us)
{
    struct verb_counts *counts = &metrics->verbs[verb];
    add(&counts->calls, 1);
    add(&counts->took_us, (int64_t)took_us);
    if (is_error)
        add(&counts->errors, 1);
}

int64_t metrics_sum(enum metric metric)
{
    int64_t sum = 0;
    for (struct metrics *m = first; m != NULL; m = m->next)
        sum += atomic_load_explicit(&m->values[metric], memory_order_relaxed);
    return sum;
}

static void write_durations(struct buf *b)
{
    int64_t total = 0, duration_us = 0;
    buf_lit(
        b, "# HELP parley_request_duration_seconds Response time of requests that were not parked\n"
           "# TYPE parley_request_duration_seconds histogram\n");
    for (unsigned bucket = 0; bucket <= METRICS_BUCKET_N; bucket++) {
        for (struct metrics *m = first; m != NULL; m = m->next)
            total += atomic_load_explicit(&m->buckets[bucket], memory_order_relaxed);
        if (bucket == METRICS_BUCKET_N)
            buf_lit(b, "parley_request_duration_seconds_bucket{le=\"+Inf\"}");
        else
            buf_printf(b, "parley_request_duration_seconds_bucket{le=\"%.5f\"}",
                       (double)bound_us(bucket) / 1e6);
        buf_printf(b, " %lld\n", (long long)total);
    }
    for (struct metrics *m = first; m != NULL; m = m->next)
        duration_us += atomic_load_explicit(&m->duration_us, memory_order_relaxed);
    buf_printf(b, "parley_request_duration_seconds_sum %.6f\n", (double)duration_us / 1e6);
    buf_printf(b, "parley_request_duration_seconds_count %lld\n", (long long)total);
}

static struct verb_counts sum_verb(unsigned verb)
{
    struct verb_counts sum = {0};
    for (struct metrics *m = first; m != NULL; m = m->next) {
        const struct verb_counts *one = &m->verbs[verb];
        sum.calls += atomic_load_explicit(&one->calls, memory_order_relaxed);
        sum.errors += atomic_load_explicit(&one->errors, memory_order_relaxed);
        sum.took_us += atomic_load_explicit(&one->took_us, memory_order_relaxed);
    }
    return sum;
}

bool metrics_sum_verb(unsigned verb, struct verb_view *ret_view)
{
    if (verb >= verb_n)
        return false;
    struct verb_counts sum = sum_verb(verb);
    *ret_view = (struct verb_view){.name = verb_name(verb),
                                   .calls = (uint64_t)sum.calls,
                                   .errors = (uint64_t)sum.errors,
                                   .took_us = (uint64_t)sum.took_us};
    return true;
}

/* Verbs that were never called are left out. */
static void write_verbs(struct buf *b)
{
    static const char *const names[][2] = {
        {"parley_verb_calls_total", "Calls per verb"},
        {"parley_verb_errors_total", "Calls per verb that got no reply"},
        {"parley_verb_seconds_total", "Duration of calls of each verb, from start to reply"},
    };
    for (int i = 0; i < 3; i++) {
        buf_printf(b, "# HELP %s %s\n# TYPE %s counter\n", names[i][0], names[i][1], names[i][0]);
        for (unsigned verb = 0; verb < verb_n; verb++) {
            struct verb_counts sum = sum_verb(verb);
            struct str name = verb_name(verb);
            if (sum.calls == 0)
                continue;
            buf_printf(b, "%s{verb=\"%.*s\"} ", names[i][0], STR_ARG(name));
            if (i == 2)
                buf_printf(b, "%.6f\n", (double)sum.took_us / 1e6);
            else
                buf_printf(b, "%lld\n", (long long)(i == 0 ? sum.calls : sum.errors));
        }
    }
}

/* The earliest time that any thread set; 0 when none has. */
static int64_t earliest(enum metric metric)
{
    int64_t found = 0;
    for (struct metrics *m = first; m != NULL; m = m->next) {
        int64_t at = atomic_load_explicit(&m->values[metric], memory_order_relaxed);
        if (at != 0 && (found == 0 || at < found))
            found = at;
    }
    return found;
}

static void write_age(struct buf *b, enum metric metric)
{
    int64_t at_ms = earliest(metric), now_ms = (int64_t)clock_mono_ms();
    if (at_ms != 0)
        buf_printf(b, "%s %.3f\n", table[metric].name,
                   at_ms > now_ms ? 0.0 : (double)(now_ms - at_ms) / 1e3);
}

void metrics_write(struct buf *b)
{
    for (int i = 0; i < METRIC_NR; i++) {
        int name_n = (int)strcspn(table[i].name, "{");
        bool is_age = strcmp(table[i].kind, "age") == 0;
        if (table[i].help[0] != 0)
            buf_printf(b, "# HELP %.*s %s\n# TYPE %.*s %s\n", name_n, table[i].name, table[i].help,
                       name_n, table[i].name, is_age ? "gauge" : table[i].kind);
        if (is_age)
            write_age(b, (enum metric)i);
        else
            buf_printf(b, "%s %lld\n", table[i].name, (long long)metrics_sum((enum metric)i));
    }
    write_durations(b);
    write_verbs(b);
}
