/* SPDX-License-Identifier: MIT
 *
 * bench: the settings and results of `parley bench`. main.c fills `struct bench` from flags; each
 * mode fills its result; report.c prints them. Nothing here is shared between threads: there is
 * one. Durations are microseconds unless a name says otherwise.
 */
#ifndef PARLEY_BENCH_BENCH_H
#define PARLEY_BENCH_BENCH_H

#include "services/bench/proc.h"
#include "services/bench/samples.h"
#include "services/bench/target.h"
#include "shared/auth/accounts.h"
#include "shared/base/buf.h"

enum bench_mode {
    BENCH_SPLIT,
    BENCH_INLINE,
    BENCH_COMPACT,
    BENCH_WAKE,
    BENCH_WAKECHECK,
    BENCH_IDLE,
    BENCH_TOKENS,
    BENCH_MODE_NR
};

struct bench {
    struct bench_target targets[BENCH_TARGET_MAX];
    size_t target_n;
    const struct account *frontend, *engine; /* borrowed from accounts */
    struct buf frontend_token, engine_token; /* empty: requests are signed */
    unsigned seconds, conns, engines, users, samples, idle_n, query_bytes, answer_bytes;
    unsigned rate; /* cycles per second to begin; 0: as many as `conns` can */
    unsigned streams, token_rate, per_piece, viewers; /* the rate is that of one stream, per s */
    unsigned batch; /* streams whose pieces are due at the same moments */
    unsigned slots; /* claims at a time of each engine's socket */
    bool is_next, is_progress, has_engine_sockets;
    char run[16];                       /* starts the topics of this run: "bench-1a2b3c-" */
    struct str query_json, answer_json; /* the texts as JSON strings, quotes included */
    struct bench_proc_group nodes, redis;
};

/* Faults, in any mode. */
struct bench_faults {
    uint64_t errors;     /* responses other than 200, and what is not HTTP */
    uint64_t empties;    /* polls that ended with nothing, checks without an answer */
    uint64_t reconnects; /* connections lost under a request, or refused */
    uint64_t in_a_row;   /* errors since the last good response */
    bool is_fatal;       /* the run was given up: credentials refused, or nothing but errors */
    char first[256];     /* the first error, for people; "" when there was none */
};

struct bench_cycle_result {
    struct bench_faults faults;
    uint64_t cycles, elapsed_us, requests;
    uint64_t unfinished; /* cycles that had no answer when the drain time was over */
    struct bench_samples latency;
    double node_cpu_s, redis_cpu_s, client_cpu_s; /* over `elapsed_us`; negative: not known */
};

struct bench_wake_result {
    struct bench_faults faults;
    struct bench_samples since_sent;     /* producer's send -> consumer has it */
    struct bench_samples since_returned; /* producer has its response -> consumer has it, signed */
};

struct bench_idle_result {
    struct bench_faults faults;
    uint64_t asked, parked; /* parked: still unanswered at the end */
    int64_t node_before_bytes, node_after_bytes, redis_before_bytes, redis_after_bytes; /* RSS */
    uint64_t elapsed_us;
    double node_cpu_s, redis_cpu_s; /* over `elapsed_us`; negative: not known */
};

struct bench_tokens_result {
    struct bench_faults faults;
    uint64_t elapsed_us, sent, delivered; /* tokens; delivered: to all viewers together */
    struct bench_samples delay;           /* of a piece: it is sent -> a viewer has it */
    uint64_t refused;                     /* pieces that were not taken */
    uint64_t resets;                      /* events `restart` and `reset` */
    uint64_t unequal;                     /* viewers whose text is not what was sent */
    uint64_t unfinished;                  /* viewers that did not see the end of their stream */
    double node_cpu_s, redis_cpu_s, client_cpu_s; /* over `elapsed_us`; negative: not known */
};

struct bench_results {
    bool has[BENCH_MODE_NR];
    struct bench_cycle_result cycles[3]; /* [BENCH_SPLIT], [BENCH_INLINE], [BENCH_COMPACT] */
    struct bench_wake_result wakes[2];   /* [BENCH_WAKE - BENCH_WAKE], [BENCH_WAKECHECK - ..] */
    struct bench_idle_result idle;
    struct bench_tokens_result tokens;
};

/* Each runs one mode to its end and blocks meanwhile. False when the system refuses (descriptors,
 * memory for sockets), with a line on standard error. */
bool bench_cycle_run(const struct bench *bench, enum bench_mode mode,
                     struct bench_cycle_result *ret_result) must_check;
bool bench_wake_run(const struct bench *bench, enum bench_mode mode,
                    struct bench_wake_result *ret_result) must_check;
bool bench_idle_run(const struct bench *bench, struct bench_idle_result *ret_result) must_check;
bool bench_tokens_run(const struct bench *bench, struct bench_tokens_result *ret_result) must_check;

/* Logs both accounts in at the first node (blocks up to 10 s each). False with a line on standard
 * error. */
bool bench_login(struct bench *bench) must_check;

/* Writes one line over the last one when standard error is a terminal; does nothing otherwise. */
void bench_show_progress(const struct bench *bench, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
