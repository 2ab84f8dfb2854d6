/* SPDX-License-Identifier: MIT
 * report.c - see report.h. The names and units of the JSON members are listed in README.md. */
#include "services/bench/report.h"

#include "shared/base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

enum { REPORT_MAX_BYTES = 65536 };

const char *bench_mode_name(enum bench_mode mode)
{
    static const char *const names[BENCH_MODE_NR] = {"split",     "inline", "compact", "wake",
                                                     "wakecheck", "idle",   "tokens"};
    return names[mode];
}

/* Returns the cost per 10,000 cycles; negative when it is not known. */
static double per_10k(double seconds, uint64_t cycles)
{
    return seconds < 0 || cycles == 0 ? -1 : seconds * 1e4 / (double)cycles;
}

static double per_s(uint64_t n, uint64_t elapsed_us)
{
    return elapsed_us == 0 ? 0 : (double)n * 1e6 / (double)elapsed_us;
}

static double cycles_per_s(const struct bench_cycle_result *r)
{
    return per_s(r->cycles, r->elapsed_us);
}

/* Returns the cost of 1,000 tokens in ms; negative when it is not known. */
static double per_1k_ms(double seconds, uint64_t tokens)
{
    return seconds < 0 || tokens == 0 ? -1 : seconds * 1e6 / (double)tokens;
}

/* Percent of one core; negative when it is not known. */
static double core_percent(double seconds, uint64_t elapsed_us)
{
    return seconds < 0 || elapsed_us == 0 ? -1 : seconds * 1e8 / (double)elapsed_us;
}

/* Growth per poll in bytes; false when it is not known. */
static bool per_poll(const struct bench_idle_result *r, int64_t before, int64_t after,
                     double *ret_bytes)
{
    if (before < 0 || after < 0 || r->parked == 0)
        return false;
    *ret_bytes = (double)(after - before) / (double)r->parked;
    return true;
}

static bool flush(struct buf *out)
{
    bool is_ok =
        !out->is_over && fwrite(out->at, 1, out->n, stdout) == out->n && fflush(stdout) == 0;
    if (!is_ok)
        fprintf(stderr, "parley: cannot write the report: %s\n", strerror(errno));
    buf_fini(out);
    return is_ok;
}

/* A cell of the table: a number with `digits` decimals, "-" when it is negative. */
static void put_cell(struct buf *out, int width, int digits, double value)
{
    if (value < 0)
        buf_printf(out, " %*s", width, "-");
    else
        buf_printf(out, " %*.*f", width, digits, value);
}

static double quantile_ms(const struct bench_samples *samples, double q)
{
    return (double)bench_samples_quantile(samples, q) / 1000;
}

static void put_quantile_cell(struct buf *out, const struct bench_samples *samples, double q)
{
    put_cell(out, 8, 2, samples->n == 0 ? -1 : quantile_ms(samples, q));
}

static void put_cycle_rows(struct buf *out, const struct bench *bench,
                           const struct bench_results *results)
{
    if (bench->rate > 0)
        buf_printf(out, "%llu %s per second, at most ", COUNTED(bench->rate, "cycle"));
    buf_printf(out, "%u concurrent%s, %u s after 1 s of warm-up%s%s\n", bench->conns,
               bench->rate > 0 ? "" : " cycles", bench->seconds,
               bench->is_next ? ", Next=true" : "",
               bench->has_engine_sockets ? ", engines at sockets" : "");
    buf_printf(out, "\n%-10s %9s %8s %8s %8s %7s %8s %5s | %s\n", "full", "", "p50", "p99", "max",
               "", "", "re-", "CPU s per 10,000 cycles");
    buf_printf(out, "%-10s %9s %8s %8s %8s %7s %8s %5s | %6s %6s %6s\n", "cycles", "per s", "ms",
               "ms", "ms", "errors", "empties", "conn.", "node", "Redis", "client");
    for (enum bench_mode mode = BENCH_SPLIT; mode <= BENCH_COMPACT; mode++) {
        const struct bench_cycle_result *r = &results->cycles[mode];
        if (!results->has[mode])
            continue;
        buf_printf(out, "%-10s", bench_mode_name(mode));
        put_cell(out, 9, 0, cycles_per_s(r));
        put_quantile_cell(out, &r->latency, 0.5);
        put_quantile_cell(out, &r->latency, 0.99);
        put_quantile_cell(out, &r->latency, 1);
        put_cell(out, 7, 0, (double)r->faults.errors);
        put_cell(out, 8, 0, (double)r->faults.empties);
        put_cell(out, 5, 0, (double)r->faults.reconnects);
        buf_lit(out, " |");
        put_cell(out, 6, 3, per_10k(r->node_cpu_s, r->cycles));
        put_cell(out, 6, 3, per_10k(r->redis_cpu_s, r->cycles));
        put_cell(out, 6, 3, per_10k(r->client_cpu_s, r->cycles));
        buf_put_char(out, '\n');
        if (r->unfinished > 0)
            buf_printf(out, "           %llu %s had no answer 5 s after the end\n",
                       COUNTED(r->unfinished, "cycle"));
    }
}

/* p50, p99 and the maximum; durations since the response may be negative. */
static void put_wake_cells(struct buf *out, const struct bench_samples *samples)
{
    static const double points[] = {0.5, 0.99, 1};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
        if (samples->n == 0)
            buf_printf(out, " %8s", "-");
        else
            buf_printf(out, " %8lld", (long long)bench_samples_quantile(samples, points[i]));
}

static void put_wake_rows(struct buf *out, const struct bench_results *results)
{
    buf_printf(out, "\n%-10s %9s | %-26s | %s\n", "wake", "", "since the producer sent, us",
               "since it had its response, us");
    buf_printf(out, "%-10s %9s | %8s %8s %8s  | %8s %8s %8s %7s\n", "latency", "samples", "p50",
               "p99", "max", "p50", "p99", "max", "errors");
    for (enum bench_mode mode = BENCH_WAKE; mode <= BENCH_WAKECHECK; mode++) {
        const struct bench_wake_result *r = &results->wakes[mode - BENCH_WAKE];
        if (!results->has[mode])
            continue;
        buf_printf(out, "%-10s %9zu |", bench_mode_name(mode), r->since_sent.n);
        put_wake_cells(out, &r->since_sent);
        buf_lit(out, "  |");
        put_wake_cells(out, &r->since_returned);
        buf_printf(out, " %7llu\n", (unsigned long long)r->faults.errors);
    }
}

static void put_idle_side(struct buf *out, const char *name, const struct bench_idle_result *r,
                          int64_t before, int64_t after, double cpu_s)
{
    double bytes;
    if (!per_poll(r, before, after, &bytes)) {
        buf_printf(out, "%-10s memory and CPU unknown: give its process id\n", name);
        return;
    }
    buf_printf(out, "%-10s %8.0f bytes per poll (%.1f MiB -> %.1f MiB), %.2f %% of a core idle\n",
               name, bytes, (double)before / 1048576, (double)after / 1048576,
               core_percent(cpu_s, r->elapsed_us));
}

static void put_idle_rows(struct buf *out, const struct bench_idle_result *r)
{
    buf_printf(out, "\nidle       %llu of %llu %s stayed parked, %llu %s, %llu %s\n",
               (unsigned long long)r->parked, COUNTED(r->asked, "poll"),
               COUNTED(r->faults.errors, "error"), COUNTED(r->faults.reconnects, "reconnect"));
    put_idle_side(out, "node", r, r->node_before_bytes, r->node_after_bytes, r->node_cpu_s);
    put_idle_side(out, "Redis", r, r->redis_before_bytes, r->redis_after_bytes, r->redis_cpu_s);
}

static void put_tokens_row(struct buf *out, const struct bench *bench,
                           const struct bench_tokens_result *r)
{
    buf_printf(out, "%-10s", bench->has_engine_sockets ? "socket" : "routes");
    put_cell(out, 9, 0, per_s(r->sent, r->elapsed_us));
    put_cell(out, 9, 0, per_s(r->delivered, r->elapsed_us));
    put_quantile_cell(out, &r->delay, 0.5);
    put_quantile_cell(out, &r->delay, 0.99);
    put_quantile_cell(out, &r->delay, 1);
    put_cell(out, 7, 0, (double)r->refused);
    put_cell(out, 6, 0, (double)r->resets);
    put_cell(out, 5, 0, (double)r->unequal);
    put_cell(out, 5, 0, (double)r->faults.reconnects);
    buf_lit(out, " |");
    put_cell(out, 6, 1, per_1k_ms(r->node_cpu_s, r->delivered));
    put_cell(out, 6, 1, per_1k_ms(r->redis_cpu_s, r->delivered));
    put_cell(out, 6, 1, per_1k_ms(r->client_cpu_s, r->delivered));
    buf_put_char(out, '\n');
    if (r->unfinished > 0)
        buf_printf(out, "           %llu %s had not ended 5 s after the end\n",
                   COUNTED(r->unfinished, "stream"));
}

static void put_tokens_rows(struct buf *out, const struct bench *bench,
                            const struct bench_tokens_result *r)
{
    buf_printf(out, "\n%llu %s of %llu %s per second, %llu in each piece, ",
               COUNTED(bench->streams, "answer"), COUNTED(bench->token_rate, "token"),
               (unsigned long long)bench->per_piece);
    if (bench->batch > 1)
        buf_printf(out, "%llu %s at the same moments, ", COUNTED(bench->batch, "answer"));
    buf_printf(out, "%llu %s each, %u s after 1 s of warm-up\n", COUNTED(bench->viewers, "viewer"),
               bench->seconds);
    buf_printf(out, "\n%-10s %9s %9s %8s %8s %8s %7s %6s %5s %5s | %s\n", "tokens", "sent",
               "deliv.", "p50", "p99", "max", "", "", "un-", "re-",
               "CPU ms per 1,000 delivered tokens");
    buf_printf(out, "%-10s %9s %9s %8s %8s %8s %7s %6s %5s %5s | %6s %6s %6s\n", "by", "per s",
               "per s", "ms", "ms", "ms", "refused", "resets", "equal", "conn.", "node", "Redis",
               "client");
    put_tokens_row(out, bench, r);
}

bool bench_report_table(const struct bench *bench, const struct bench_results *results)
{
    struct buf out;
    buf_init(&out, REPORT_MAX_BYTES);
    buf_printf(&out, "parley bench %s: ", PARLEY_VERSION);
    for (size_t i = 0; i < bench->target_n; i++)
        buf_printf(&out, "%shttp://%s%s", i > 0 ? ", " : "", bench->targets[i].host,
                   bench->targets[i].prefix);
    buf_printf(&out, "\n%u-byte queries, %u-byte answers\n", bench->query_bytes,
               bench->answer_bytes);
    if (results->has[BENCH_SPLIT] || results->has[BENCH_INLINE] || results->has[BENCH_COMPACT])
        put_cycle_rows(&out, bench, results);
    if (results->has[BENCH_WAKE] || results->has[BENCH_WAKECHECK])
        put_wake_rows(&out, results);
    if (results->has[BENCH_IDLE])
        put_idle_rows(&out, &results->idle);
    if (results->has[BENCH_TOKENS])
        put_tokens_rows(&out, bench, &results->tokens);
    return flush(&out);
}

/* One member, with a comma in front; null when `value` is not known. */
static void put_number(struct buf *out, const char *name, int digits, bool is_known, double value)
{
    if (is_known)
        buf_printf(out, ",\"%s\":%.*f", name, digits, value);
    else
        buf_printf(out, ",\"%s\":null", name);
}

static void put_count(struct buf *out, const char *name, uint64_t value)
{
    buf_printf(out, ",\"%s\":%llu", name, (unsigned long long)value);
}

static void put_faults(struct buf *out, const struct bench_faults *faults)
{
    put_count(out, "errors", faults->errors);
    put_count(out, "empties", faults->empties);
    put_count(out, "reconnects", faults->reconnects);
    buf_lit(out, ",\"first_error\":");
    if (faults->first[0] == 0)
        buf_lit(out, "null");
    else
        buf_put_json(out, str_of(faults->first));
    buf_put_char(out, '}');
}

static void put_cost(struct buf *out, const char *name, double seconds, uint64_t cycles)
{
    double cost = per_10k(seconds, cycles);
    put_number(out, name, 4, cost >= 0, cost);
}

static void put_cycle_json(struct buf *out, const struct bench *bench,
                           const struct bench_cycle_result *r)
{
    bool is_known = r->latency.n > 0;
    buf_printf(out, "{\"conns\":%u,\"engines\":%u", bench->conns, bench->engines);
    put_number(out, "seconds", 3, true, (double)r->elapsed_us / 1e6);
    put_count(out, "cycles", r->cycles);
    put_number(out, "cycles_per_s", 1, true, cycles_per_s(r));
    put_count(out, "requests", r->requests);
    put_number(out, "p50_ms", 3, is_known, quantile_ms(&r->latency, 0.5));
    put_number(out, "p99_ms", 3, is_known, quantile_ms(&r->latency, 0.99));
    put_number(out, "max_ms", 3, is_known, quantile_ms(&r->latency, 1));
    put_cost(out, "node_cpu_s_per_10k", r->node_cpu_s, r->cycles);
    put_cost(out, "redis_cpu_s_per_10k", r->redis_cpu_s, r->cycles);
    put_cost(out, "client_cpu_s_per_10k", r->client_cpu_s, r->cycles);
    put_count(out, "unfinished", r->unfinished);
    put_faults(out, &r->faults);
}

static void put_quantiles(struct buf *out, const char *name, const struct bench_samples *samples)
{
    static const struct {
        const char *name;
        double q;
    } points[] = {{"p50", 0.5}, {"p99", 0.99}, {"max", 1}};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        char member[64];
        snprintf(member, sizeof member, "%s_%s_us", name, points[i].name);
        put_number(out, member, 0, samples->n > 0,
                   (double)bench_samples_quantile(samples, points[i].q));
    }
}

static void put_wake_json(struct buf *out, const struct bench_wake_result *r)
{
    buf_printf(out, "{\"samples\":%zu", r->since_sent.n);
    put_quantiles(out, "sent", &r->since_sent);
    put_quantiles(out, "returned", &r->since_returned);
    put_faults(out, &r->faults);
}

static void put_idle_json(struct buf *out, const struct bench_idle_result *r)
{
    double node = 0, redis = 0;
    bool has_node = per_poll(r, r->node_before_bytes, r->node_after_bytes, &node);
    bool has_redis = per_poll(r, r->redis_before_bytes, r->redis_after_bytes, &redis);
    buf_printf(out, "{\"polls\":%llu", (unsigned long long)r->asked);
    put_count(out, "parked", r->parked);
    put_number(out, "seconds", 3, true, (double)r->elapsed_us / 1e6);
    put_number(out, "node_bytes_per_poll", 0, has_node, node);
    put_number(out, "node_before_bytes", 0, r->node_before_bytes >= 0,
               (double)r->node_before_bytes);
    put_number(out, "node_after_bytes", 0, r->node_after_bytes >= 0, (double)r->node_after_bytes);
    put_number(out, "node_cpu_percent", 2, r->node_cpu_s >= 0,
               core_percent(r->node_cpu_s, r->elapsed_us));
    put_number(out, "redis_bytes_per_poll", 0, has_redis, redis);
    put_number(out, "redis_cpu_percent", 2, r->redis_cpu_s >= 0,
               core_percent(r->redis_cpu_s, r->elapsed_us));
    put_faults(out, &r->faults);
}

static void put_1k_cost(struct buf *out, const char *name, double seconds, uint64_t tokens)
{
    double cost = per_1k_ms(seconds, tokens);
    put_number(out, name, 2, cost >= 0, cost);
}

static void put_tokens_json(struct buf *out, const struct bench *bench,
                            const struct bench_tokens_result *r)
{
    bool is_known = r->delay.n > 0;
    buf_printf(out,
               "{\"streams\":%u,\"token_rate\":%u,\"per_piece\":%u,\"batch\":%u,\"viewers\":%u",
               bench->streams, bench->token_rate, bench->per_piece, bench->batch, bench->viewers);
    put_number(out, "seconds", 3, true, (double)r->elapsed_us / 1e6);
    put_count(out, "sent", r->sent);
    put_number(out, "sent_per_s", 1, true, per_s(r->sent, r->elapsed_us));
    put_count(out, "delivered", r->delivered);
    put_number(out, "delivered_per_s", 1, true, per_s(r->delivered, r->elapsed_us));
    put_number(out, "p50_ms", 3, is_known, quantile_ms(&r->delay, 0.5));
    put_number(out, "p99_ms", 3, is_known, quantile_ms(&r->delay, 0.99));
    put_number(out, "max_ms", 3, is_known, quantile_ms(&r->delay, 1));
    put_1k_cost(out, "node_cpu_ms_per_1k", r->node_cpu_s, r->delivered);
    put_1k_cost(out, "redis_cpu_ms_per_1k", r->redis_cpu_s, r->delivered);
    put_1k_cost(out, "client_cpu_ms_per_1k", r->client_cpu_s, r->delivered);
    put_count(out, "refused", r->refused);
    put_count(out, "resets", r->resets);
    put_count(out, "unequal", r->unequal);
    put_count(out, "unfinished", r->unfinished);
    put_faults(out, &r->faults);
}

static void put_pids(struct buf *out, const char *name, const struct bench_proc_group *group)
{
    buf_printf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < group->n; i++)
        buf_printf(out, "%s%d", i > 0 ? "," : "", (int)group->pids[i]);
    buf_put_char(out, ']');
}

bool bench_report_json(const struct bench *bench, const struct bench_results *results)
{
    struct buf out;
    buf_init(&out, REPORT_MAX_BYTES);
    buf_lit(&out, "{\"version\":");
    buf_put_json(&out, str_of(PARLEY_VERSION));
    buf_lit(&out, ",\"urls\":[");
    for (size_t i = 0; i < bench->target_n; i++) {
        char url[BENCH_HOST_MAX + BENCH_PREFIX_MAX + 8];
        snprintf(url, sizeof url, "http://%s%s", bench->targets[i].host, bench->targets[i].prefix);
        if (i > 0)
            buf_put_char(&out, ',');
        buf_put_json(&out, str_of(url));
    }
    buf_put_char(&out, ']');
    put_count(&out, "query_bytes", bench->query_bytes);
    put_count(&out, "answer_bytes", bench->answer_bytes);
    put_count(&out, "rate", bench->rate);
    put_count(&out, "users", bench->users);
    buf_printf(&out, ",\"next\":%s,\"engine_socket\":%s", bench->is_next ? "true" : "false",
               bench->has_engine_sockets ? "true" : "false");
    put_count(&out, "slots", bench->slots);
    put_pids(&out, "node_pids", &bench->nodes);
    put_pids(&out, "redis_pids", &bench->redis);
    for (enum bench_mode mode = 0; mode < BENCH_MODE_NR; mode++) {
        if (!results->has[mode])
            continue;
        buf_printf(&out, ",\"%s\":", bench_mode_name(mode));
        if (mode <= BENCH_COMPACT)
            put_cycle_json(&out, bench, &results->cycles[mode]);
        else if (mode <= BENCH_WAKECHECK)
            put_wake_json(&out, &results->wakes[mode - BENCH_WAKE]);
        else if (mode == BENCH_IDLE)
            put_idle_json(&out, &results->idle);
        else
            put_tokens_json(&out, bench, &results->tokens);
    }
    buf_lit(&out, "}\n");
    return flush(&out);
}

void bench_show_progress(const struct bench *bench, const char *format, ...)
{
    if (!bench->is_progress)
        return;
    va_list args;
    va_start(args, format);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, format, args);
    va_end(args);
}
