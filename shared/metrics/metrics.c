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

static const struct {
    const struct histogram_bounds *bounds;
    const char *name, *help;
} histograms[METRIC_HISTOGRAM_NR] = {
#define X(name, bounds, text, help) [METRIC_HISTOGRAM_##name] = {&histogram_##bounds, text, help},
    METRICS_HISTOGRAMS(X)
#undef X
};

enum { NAME_SHOWN_MAX = 1024 };

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

void metrics_observe(struct metrics *metrics, enum metric_histogram histogram, uint64_t took_us)
{
    histogram_observe(&metrics->histograms[histogram], histograms[histogram].bounds, took_us);
}

void metrics_observe_ms(struct metrics *metrics, enum metric_histogram histogram, uint64_t from_ms,
                        uint64_t to_ms)
{
    metrics_observe(metrics, histogram, to_ms > from_ms ? (to_ms - from_ms) * 1000 : 0);
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
    metrics_observe(metrics, METRIC_HISTOGRAM_REQUEST, duration_us);
}

void metrics_name_verbs(struct str (*name_of)(unsigned verb), unsigned n)
{
    verb_name = name_of;
    verb_n = n < METRICS_VERBS_MAX ? n : METRICS_VERBS_MAX;
}

bool metrics_read_verb(const struct metrics *metrics, unsigned verb, struct verb_view *ret_view)
{
    if (verb >= verb_n)
        return false;
    const struct verb_counts *counts = &metrics->verbs[verb];
    struct histogram_sum sum = {0};
    histogram_sum_add(&sum, &counts->took, &histogram_verb);
    *ret_view = (struct verb_view){
        .name = verb_name(verb),
        .calls = (uint64_t)sum.n,
        .errors = (uint64_t)atomic_load_explicit(&counts->errors, memory_order_relaxed),
        .took_us = (uint64_t)sum.sum_us};
    return true;
}

void metrics_count_verb(struct metrics *metrics, unsigned verb, bool is_error, uint64_t took_us)
{
    struct verb_counts *counts = &metrics->verbs[verb];
    histogram_observe(&counts->took, &histogram_verb, took_us);
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

/* '%' is for names as they are in keys, or two names might become one label. */
static bool is_label(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.at[i] < ' ' || strchr("\"\\%", text.at[i]) != NULL)
            return false;
    return str_is_utf8(text);
}

void metrics_put_name(struct buf *b, struct str name)
{
    char bytes[NAME_SHOWN_MAX];
    struct buf plain = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    bool is_plain = buf_put_unnamed(&plain, name) && !plain.is_over && is_label(buf_str(&plain));
    buf_put(b, is_plain ? buf_str(&plain) : name);
}

static void write_histograms(struct buf *b)
{
    for (int i = 0; i < METRIC_HISTOGRAM_NR; i++) {
        struct histogram_sum sum = {0};
        for (struct metrics *m = first; m != NULL; m = m->next)
            histogram_sum_add(&sum, &m->histograms[i], histograms[i].bounds);
        buf_printf(b, "# HELP %s %s\n# TYPE %s histogram\n", histograms[i].name, histograms[i].help,
                   histograms[i].name);
        histogram_put(b, histograms[i].name, "", &sum, histograms[i].bounds);
    }
}

struct verb_sum {
    int64_t errors;
    struct histogram_sum took;
};

static struct verb_sum sum_verb(unsigned verb)
{
    struct verb_sum sum = {0};
    for (struct metrics *m = first; m != NULL; m = m->next) {
        sum.errors += atomic_load_explicit(&m->verbs[verb].errors, memory_order_relaxed);
        histogram_sum_add(&sum.took, &m->verbs[verb].took, &histogram_verb);
    }
    return sum;
}

bool metrics_sum_verb(unsigned verb, struct verb_view *ret_view)
{
    if (verb >= verb_n)
        return false;
    struct verb_sum sum = sum_verb(verb);
    *ret_view = (struct verb_view){.name = verb_name(verb),
                                   .calls = (uint64_t)sum.took.n,
                                   .errors = (uint64_t)sum.errors,
                                   .took_us = (uint64_t)sum.took.sum_us};
    return true;
}

/* Verbs that were never called are left out. */
static void write_verbs(struct buf *b)
{
    static const char *const names[][3] = {
        {"parley_verb_calls_total", "counter", "Calls per verb"},
        {"parley_verb_errors_total", "counter", "Calls per verb that got no reply"},
        {"parley_verb_seconds", "histogram", "Duration of calls of each verb, from start to reply"},
    };
    for (int i = 0; i < 3; i++) {
        buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", names[i][0], names[i][2], names[i][0],
                   names[i][1]);
        for (unsigned verb = 0; verb < verb_n; verb++) {
            struct verb_sum sum = sum_verb(verb);
            char label[80];
            if (sum.took.n == 0)
                continue;
            snprintf(label, sizeof label, "verb=\"%.*s\"", STR_ARG(verb_name(verb)));
            if (i == 2)
                histogram_put(b, names[i][0], label, &sum.took, &histogram_verb);
            else
                buf_printf(b, "%s{%s} %lld\n", names[i][0], label,
                           (long long)(i == 0 ? sum.took.n : sum.errors));
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
    write_histograms(b);
    write_verbs(b);
}
