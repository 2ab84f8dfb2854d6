/* SPDX-License-Identifier: MIT
 *
 * metrics: counters and one latency histogram per thread, added up when somebody looks. Writing is
 * one relaxed store of the own thread; reading works from any thread.
 *
 * An "age" is kept as the time of an event (clock_mono_ms, 0: never) and shown as a gauge: the
 * seconds since the earliest of all threads that have one; without any there is no value.
 */
#ifndef PARLEY_METRICS_METRICS_H
#define PARLEY_METRICS_METRICS_H

#include "shared/base/buf.h"

/* clang-format off */
#define METRICS_TABLE(X)                                                                          \
    X(REQUESTS_2XX,   "parley_requests_total{status=\"2xx\"}", "counter", "Requests by class of status; 2xx: all below 400") \
    X(REQUESTS_4XX,   "parley_requests_total{status=\"4xx\"}", "counter", "")                     \
    X(REQUESTS_5XX,   "parley_requests_total{status=\"5xx\"}", "counter", "")                     \
    X(QUERIES_ADDED,  "parley_queries_added_total",    "counter", "Queries accepted by add-query") \
    X(CLAIMS,         "parley_claims_total",           "counter", "Claims of queries written to engines") \
    X(CLAIMS_BACK,    "parley_claims_given_back_total", "counter", "Claims of queries given back before an engine had them") \
    X(ANSWERS,        "parley_answers_total",          "counter", "Answers stored")               \
    X(ANSWERS_REFUSED, "parley_answers_refused_total", "counter", "Answers refused (done, lost, cancelled)") \
    X(LOGIN_FAILURES, "parley_login_failures_total",   "counter", "Requests with wrong credentials") \
    X(NONCES_REUSED,  "parley_nonces_reused_total",    "counter", "Requests with a nonce used before") \
    X(RATE_LIMITED,   "parley_rate_limited_total",     "counter", "Requests refused for the rate or the nonces of their account") \
    X(TURNS,          "parley_turns_total",            "counter", "Calls of the function library") \
    X(TURN_VERBS,     "parley_turn_verbs_total",       "counter", "Verbs in these calls")         \
    X(UPLOADS,        "parley_uploads_total",          "counter", "Documents stored by uploads")  \
    X(SEARCHES,       "parley_searches_total",         "counter", "Searches of documents that were made") \
    X(PACKS_FETCHED,  "parley_packs_fetched_total",    "counter", "Search indexes of documents fetched from Redis") \
    X(INDEX_BYTES,    "parley_index_cache_bytes",      "gauge",   "Memory of cached search indexes") \
    X(OPENID_FETCHES, "parley_openid_fetches_total",   "counter", "Fetches of the OpenID provider's keys that went well") \
    X(OPENID_FAILURES, "parley_openid_failures_total", "counter", "Fetches of these keys that failed") \
    X(OPENID_KEYS,    "parley_openid_keys",            "gauge",   "Keys of the OpenID provider at hand, in all threads") \
    X(OPENID_FETCHED_MS, "parley_openid_keys_age_seconds", "age", "Since the oldest of these were fetched") \
    X(REDIS_LOST,     "parley_redis_lost_total",       "counter", "Lost connections to Redis")    \
    X(CONNECTIONS,    "parley_connections_open",       "gauge",   "Open connections of clients")  \
    X(IDLE_CLOSED,    "parley_connections_idle_closed_total", "counter", "Idle connections closed to make room for others") \
    X(BODY_BYTES,     "parley_body_bytes",             "gauge",   "Memory of request bodies over 16 KiB") \
    X(POLLS_PARKED,   "parley_polls_parked",           "gauge",   "Engines' polls waiting for work") \
    X(CHECKS_PARKED,  "parley_checks_parked",          "gauge",   "Requests waiting for an answer") \
    X(WEBSOCKETS,     "parley_websockets_open",        "gauge",   "Open WebSockets")             \
    X(CONNECTED,      "parley_redis_connected",        "gauge",   "Threads whose connections to Redis stand")
/* clang-format on */

enum metric {
#define X(name, text, kind, help) METRIC_##name,
    METRICS_TABLE(X)
#undef X
        METRIC_NR
};

enum { METRICS_BUCKET_N = 16, METRICS_VERBS_MAX = 128 };

/* Of one verb: `took_us` is from its begin to its reply, so with the wait for its turn. */
struct verb_counts {
    _Atomic int64_t calls, errors, took_us;
};

struct metrics {
    _Atomic int64_t values[METRIC_NR];
    _Atomic int64_t buckets[METRICS_BUCKET_N + 1]; /* requests by duration; last: longer */
    _Atomic int64_t duration_us;
    struct verb_counts verbs[METRICS_VERBS_MAX];
    struct metrics *next;
};

/* Registers one thread's metrics, for the life of the process. Before threads start. */
void metrics_register(struct metrics *metrics);
void metrics_add(struct metrics *metrics, enum metric metric, int64_t delta);
/* For gauges and ages. */
void metrics_set(struct metrics *metrics, enum metric metric, int64_t value);
/* Counts one answered request. Parked ones are left out: their wait is no work of ours. */
void metrics_count_request(struct metrics *metrics, int status, uint64_t duration_us,
                           bool was_parked);
/* What the verbs are called that are counted from 0 to `n` - 1. Before threads start; again is no
 * harm. */
void metrics_name_verbs(struct str (*name_of)(unsigned verb), unsigned n);
/* One thread's count of a verb, for operators. False past the last verb. */
struct verb_view {
    struct str name;
    uint64_t calls, errors, took_us;
};
bool metrics_look_at_verb(const struct metrics *metrics, unsigned verb,
                          struct verb_view *ret_view) must_check;
void metrics_count_verb(struct metrics *metrics, unsigned verb, bool is_error, uint64_t took_us);
/* The sum over all threads. */
int64_t metrics_sum(enum metric metric);
/* Writes Prometheus's text format 0.0.4. */
void metrics_write(struct buf *b);

#endif
