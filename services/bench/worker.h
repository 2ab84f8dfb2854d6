/* SPDX-License-Identifier: MIT
 *
 * worker: one connection that plays a frontend, an engine, or both, with the four requests of a
 * cycle (add, claim, answer, check), those of an answer that is shown while it is written (a
 * partial answer, a check as a stream), and the one that opens an engine's socket. What to do after
 * a response is the mode's business; building requests, reading claims and judging errors is done
 * here, once for all modes.
 */
#ifndef PARLEY_BENCH_WORKER_H
#define PARLEY_BENCH_WORKER_H

#include "services/bench/bench.h"
#include "services/bench/conn.h"

enum bench_step {
    BENCH_STEP_ADD,
    BENCH_STEP_CLAIM,
    BENCH_STEP_PARTIAL,
    BENCH_STEP_ANSWER,
    BENCH_STEP_CHECK,
    BENCH_STEP_STREAM,
    BENCH_STEP_SOCKET
};

enum { BENCH_TOPIC_BYTES = 48 };

struct bench_worker {
    struct bench_conn conn; /* first: a handler finds its worker by this address */
    const struct bench *bench;
    void *owner; /* the mode's run */
    enum bench_step step;
    unsigned user;                 /* on whose behalf it asks */
    bool wants_next;               /* an answer asks for the next claim at once */
    bool waits_for_next;           /* or for the next one that comes */
    bool waits_for_answer;         /* an add is held until there is an answer */
    bool wants_lease;              /* a claim shows its lease, which a partial answer needs */
    unsigned slots;                /* of an engine's socket */
    unsigned wait_s;               /* of a claim; 0: what the node takes for usual */
    char topic[BENCH_TOPIC_BYTES]; /* what it adds and checks; no character needs an escape */
    uint64_t seq, begun_us;
    struct bench_worker *next_resting; /* the mode's list */
    /* The claim that it answers: raw JSON, kept in `claim`. */
    struct buf claim;
    struct str claim_topic, claim_lease, claim_rest, row_seq, row_query;
    /* The answer, or the next piece of it, as a JSON string, and the thoughts as any JSON. Borrowed
     * until the response. */
    struct str text_json, think_json;
    uint64_t offset;    /* of that piece */
    struct str last_id; /* of the events that a stream has brought; borrowed, empty: none */
};

enum bench_verdict {
    BENCH_GOOD,
    BENCH_AGAIN,   /* the node is busy: the step is issued again, on_again will come */
    BENCH_ABANDON, /* this step cannot succeed: start over */
    BENCH_FATAL    /* no step can: the loop was stopped */
};

void bench_worker_init(struct bench_worker *worker, const struct bench *bench, void *owner,
                       struct bench_conn_loop *loop, const struct bench_target *target,
                       const struct bench_conn_handler *handler);
void bench_worker_fini(struct bench_worker *worker);

/* Each sends one request. Only when none is under way. */
void bench_worker_add(struct bench_worker *worker); /* under a new topic; sets begun_us */
void bench_worker_claim(struct bench_worker *worker);
void bench_worker_partial(struct bench_worker *worker); /* of the row at hand, at `offset` */
void bench_worker_answer(struct bench_worker *worker);  /* the row at hand */
void bench_worker_check(struct bench_worker *worker);   /* `topic` and `seq` */
void bench_worker_stream(struct bench_worker *worker);  /* the same, as events after `last_id` */
/* Asks for an engine's socket; the node sends up to `slots` claims at a time. */
void bench_worker_socket(struct bench_worker *worker, unsigned slots);
/* Puts the members of the body of bench_worker_partial, of bench_worker_answer, and a brace. */
void bench_worker_put_partial(const struct bench_worker *worker, struct buf *body);
void bench_worker_put_answer(const struct bench_worker *worker, struct buf *body);
/* The step that it is at, signed again. */
void bench_worker_repeat(struct bench_worker *worker);

/* Looks at the status, counts what is wrong and, for BENCH_AGAIN, sets the delay. */
enum bench_verdict bench_worker_judge(struct bench_worker *worker,
                                      const struct bench_response *response,
                                      struct bench_faults *faults) must_check;

/* Reads the response to add into `seq`. False when it is not one. */
bool bench_worker_take_added(struct bench_worker *worker, struct str body) must_check;
/* Copies the claim in `json` and moves to its first row. False when it holds none. */
bool bench_worker_take_claim(struct bench_worker *worker, struct str json) must_check;
/* Moves to the claim's next row. Returns false after the last. */
bool bench_worker_next_row(struct bench_worker *worker) must_check;
/* Returns whether the claim is of this very run, and not left over from another or asked by people.
 * Then `topic` and `seq` become those of the row at hand, for a check. */
bool bench_worker_owns_claim(struct bench_worker *worker);
/* Returns whether the response to check holds an answer. */
bool bench_body_has_answer(struct str body);

/* Counts an error; the first one is kept for people. */
void bench_fault(struct bench_faults *faults, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Returns the raw `detail` of a problem, cut to what fits into a line; empty without one. */
struct str bench_body_detail(struct str body);
/* Adds the loop's own counts (lost connections, broken responses) to `faults`. */
void bench_faults_finish(struct bench_faults *faults, const struct bench_conn_loop *loop);

#endif
