/* SPDX-License-Identifier: MIT
 *
 * metrics: counters, gauges and histograms per thread, summed when they are read. A thread updates
 * its own with relaxed stores, without a lock; any thread can read.
 *
 * An "age" is stored as the time of an event (clock_mono_ms, 0: never) and exported as a gauge: the
 * seconds since the earliest event of all threads; without one there is no value.
 */
#ifndef PARLEY_METRICS_METRICS_H
#define PARLEY_METRICS_METRICS_H

#include "shared/metrics/histogram.h"

/* clang-format off */
#define METRICS_TABLE(X)                                                                          \
    X(REQUESTS_2XX,   "parley_requests_total{status=\"2xx\"}", "counter", "Requests by status class; 2xx counts all below 400") \
    X(REQUESTS_4XX,   "parley_requests_total{status=\"4xx\"}", "counter", "")                     \
    X(REQUESTS_5XX,   "parley_requests_total{status=\"5xx\"}", "counter", "")                     \
    X(QUERIES_ADDED,  "parley_queries_added_total",    "counter", "Queries accepted by add-query") \
    X(CLAIMS,         "parley_claims_total",           "counter", "Claims delivered to engines")  \
    X(CLAIMS_BACK,    "parley_claims_given_back_total", "counter", "Claims returned before they reached an engine") \
    X(ANSWERS,        "parley_answers_total",          "counter", "Answers stored")               \
    X(ANSWERS_REFUSED, "parley_answers_refused_total", "counter", "Answers refused (already done, lease lost, cancelled)") \
    X(LEASES_ANSWERED, "parley_lease_ends_total{reason=\"answered\"}", "counter", "Leases of claims by what ended them; a deletion is not counted") \
    X(LEASES_RELEASED, "parley_lease_ends_total{reason=\"released\"}", "counter", "")            \
    X(LEASES_CANCELLED, "parley_lease_ends_total{reason=\"cancelled\"}", "counter", "")          \
    X(LEASES_EXPIRED, "parley_lease_ends_total{reason=\"expired\"}", "counter", "")              \
    X(LEASES_UNDELIVERED, "parley_lease_ends_total{reason=\"undelivered\"}", "counter", "")      \
    X(LOGIN_FAILURES, "parley_login_failures_total",   "counter", "Requests with wrong credentials") \
    X(NONCES_REUSED,  "parley_nonces_reused_total",    "counter", "Requests with a nonce that was already used") \
    X(RATE_LIMITED,   "parley_rate_limited_total",     "counter", "Requests refused because of their account's rate or nonce limit") \
    X(TURNS,          "parley_turns_total",            "counter", "Calls to the Redis function library") \
    X(TURN_VERBS,     "parley_turn_verbs_total",       "counter", "Verbs executed by these calls") \
    X(UPLOADS,        "parley_uploads_total",          "counter", "Documents stored by uploads")  \
    X(SEARCHES,       "parley_searches_total",         "counter", "Document searches")            \
    X(PACKS_FETCHED,  "parley_packs_fetched_total",    "counter", "Document search indexes fetched from Redis") \
    X(INDEX_BYTES,    "parley_index_cache_bytes",      "gauge",   "Memory used by cached search indexes") \
    X(OPENID_FETCHES, "parley_openid_fetches_total",   "counter", "Successful fetches of the OpenID provider's keys") \
    X(OPENID_FAILURES, "parley_openid_failures_total", "counter", "Failed fetches of the OpenID provider's keys") \
    X(OPENID_KEYS,    "parley_openid_keys",            "gauge",   "OpenID provider keys held, in all threads") \
    X(OPENID_FETCHED_MS, "parley_openid_keys_age_seconds", "age", "Age of the oldest of these keys") \
    X(REDIS_LOST,     "parley_redis_lost_total",       "counter", "Redis connections lost")       \
    X(CONNECTIONS,    "parley_connections_open",       "gauge",   "Open client connections")      \
    X(IDLE_CLOSED,    "parley_connections_idle_closed_total", "counter", "Idle connections closed to make room for new ones") \
    X(BODY_BYTES,     "parley_body_bytes",             "gauge",   "Memory used by request bodies over 16 KiB") \
    X(UNREAD_BYTES,   "parley_unread_bytes",           "gauge",   "Memory used by answers over 16 KiB that are being put together or that clients have not read") \
    X(UNREAD_CLOSED,  "parley_connections_unread_closed_total", "counter", "Connections closed because their clients did not read an answer while others needed the memory") \
    X(POLLS_PARKED,   "parley_polls_parked",           "gauge",   "Engine polls waiting for work") \
    X(CHECKS_PARKED,  "parley_checks_parked",          "gauge",   "Requests waiting for an answer") \
    X(WEBSOCKETS,     "parley_websockets_open",        "gauge",   "Open WebSockets")             \
    X(ENGINE_SOCKETS, "parley_engine_sockets_open",    "gauge",   "Open WebSockets of engines (/ws/engine)") \
    X(PIECES_SHOWN,   "parley_pieces_shown_total",     "counter", "Pieces of unfinished answers that were shown before they were stored") \
    X(PIECES_STORED,  "parley_pieces_stored_total",    "counter", "Pieces of unfinished answers that were stored, of an engine's socket several as one") \
    X(PIECES_DROPPED, "parley_pieces_dropped_total",   "counter", "Pieces that were not sent to a node that shows them before they were stored, because Redis was too slow to take them") \
    X(CONNECTED,      "parley_redis_connected",        "gauge",   "Threads connected to Redis")

#define METRICS_HISTOGRAMS(X)                                                                     \
    X(REQUEST,     short, "parley_request_duration_seconds", "Response time of requests that were not parked") \
    X(QUEUE,       long,  "parley_queue_seconds",       "Time from adding a query to its first claim") \
    X(FIRST_TOKEN, long,  "parley_first_token_seconds", "Time from adding a query to the first partial text of its answer; answers without partial text are not counted") \
    X(ANSWER,      long,  "parley_answer_seconds",      "Time from adding a query to its stored answer") \
    X(ROUND_TRIP,  short, "parley_redis_round_trip_seconds", "Time of calls to the Redis function library, from sending to reply") \
    X(PASS,        short, "parley_loop_pass_seconds",   "Processor time of one pass of a thread's event loop, which all its clients wait for")
/* clang-format on */

enum metric {
#define X(name, text, kind, help) METRIC_##name,
    METRICS_TABLE(X)
#undef X
        METRIC_NR
};

enum metric_histogram {
#define X(name, bounds, text, help) METRIC_HISTOGRAM_##name,
    METRICS_HISTOGRAMS(X)
#undef X
        METRIC_HISTOGRAM_NR
};

enum { METRICS_VERBS_MAX = 256 };

/* Counts of one verb: measured from start to reply, which includes the wait for its turn. */
struct verb_counts {
    _Atomic int64_t errors;
    struct histogram took;
};

struct metrics {
    _Atomic int64_t values[METRIC_NR];
    struct histogram histograms[METRIC_HISTOGRAM_NR];
    struct verb_counts verbs[METRICS_VERBS_MAX];
    struct metrics *next;
};

/* Registers one thread's metrics, for the life of the process. Before threads start. */
void metrics_register(struct metrics *metrics);
void metrics_add(struct metrics *metrics, enum metric metric, int64_t delta);
/* For gauges and ages. */
void metrics_set(struct metrics *metrics, enum metric metric, int64_t value);
void metrics_observe(struct metrics *metrics, enum metric_histogram histogram, uint64_t took_us);
/* The same for a time between two readings of wall clocks, in ms, which may differ by some ms from
 * machine to machine: a negative one counts as 0. */
void metrics_observe_ms(struct metrics *metrics, enum metric_histogram histogram, uint64_t from_ms,
                        uint64_t to_ms);
/* Counts one answered request. Parked requests are not counted, because their wait is not work. */
void metrics_count_request(struct metrics *metrics, int status, uint64_t duration_us,
                           bool was_parked);
/* Sets the names of the verbs 0 to `n` - 1. Before threads start; may be repeated. */
void metrics_name_verbs(struct str (*name_of)(unsigned verb), unsigned n);
/* One thread's counts of a verb, for operators. Returns false past the last verb. */
struct verb_view {
    struct str name;
    uint64_t calls, errors, took_us;
};
bool metrics_read_verb(const struct metrics *metrics, unsigned verb,
                       struct verb_view *ret_view) must_check;
/* The same, of all threads. */
bool metrics_sum_verb(unsigned verb, struct verb_view *ret_view) must_check;
void metrics_count_verb(struct metrics *metrics, unsigned verb, bool is_error, uint64_t took_us);
/* The sum over all threads. */
int64_t metrics_sum(enum metric metric);
/* Puts a name (buf_put_name) for a label: as clients write it, or as it is in keys where a label
 * cannot hold that. No two names become one label. */
void metrics_put_name(struct buf *b, struct str name);
/* Writes Prometheus's text format 0.0.4. */
void metrics_write(struct buf *b);

#endif
