/* SPDX-License-Identifier: MIT
 *
 * question: a query that Parley itself puts into the queue and waits for: a question over
 * documents, a rewriting, a step of the agent. It has its own topic ("ask." and 24 hex digits), is
 * in no user's list of topics, and is deleted when the last waiter is served (lua/queue/ask.lua,
 * ask_leave.lua).
 *
 * Identical questions of one scope share one query, on any nodes. All on the thread of the queue's
 * loop.
 */
#ifndef PARLEY_QUEUE_QUESTION_H
#define PARLEY_QUEUE_QUESTION_H

#include "shared/queue/queue.h"

/* How long a shared question without waiters is kept for clients that return. */
enum { QUESTION_KEEP_MS = 60000 };

enum question_outcome {
    QUESTION_DONE,
    QUESTION_NO_ENGINE, /* no engine is waiting, working or between two polls */
    QUESTION_FULL,      /* the queue, or one account's part of it. Of both, see vacancy.h */
    QUESTION_TIMEOUT,
    QUESTION_FAILED, /* its engines gave up, or it was cancelled */
    QUESTION_LOST,   /* Redis was lost or refused it before it was known to be queued, or reading
                      * its answer failed while Redis was reachable */
    QUESTION_NR
};

/* The last known state of a question that was not answered in time. */
enum question_progress { QUESTION_UNKNOWN, QUESTION_OPEN, QUESTION_CLAIMED };

struct question_end {
    enum question_outcome outcome;
    struct str answer, think, model; /* texts, of DONE; model may be empty */
    struct str cut_by;               /* of DONE: outcome_cut_by, a constant */
    struct str reason;               /* for people, of FAILED */
    uint64_t depth;                  /* of FULL */
    unsigned shard;                  /* of FULL: that is */
    enum question_progress progress; /* of TIMEOUT */
    uint64_t eta_s; /* of FULL; of NO_ENGINE: when the first engine ends its rest; 0: unknown */
    enum err error; /* of LOST: ERR_REDIS_LOST, or what Redis refused it for */
};

struct question_events {
    /* The question is queued or already answered: `topic` (a name, its Seq is 1) lives as long as
     * the question. `is_new`: it did not exist before. May be NULL. */
    void (*on_asked)(void *context, struct str topic, bool is_new);
    /* The deadline of a question that its owner follows has passed: the owner checks once more, and
     * on_end reports the deadline if it finds nothing. Does not cancel the question. May be NULL.
     */
    void (*on_last_check)(void *context);
    /* Runs exactly once unless the question is cancelled, never before question_start returns; the
     * question is freed. `end` is valid only inside the call. */
    void (*on_end)(void *context, const struct question_end *end);
};

/* Borrowed only during question_start. */
struct question_settings {
    struct str user;        /* the user, as engines see it: 1 to 128 bytes */
    struct str user_name;   /* the same as a name, in its namespace: whose turn it takes */
    struct str account;     /* the account that it counts for: a name, see buf_put_name */
    unsigned max_waiting;   /* limit of waiting queries; 0: only the queue's own limit */
    unsigned max_of_all;    /* of an account that many clients share: of all of them; 0: no limit */
    struct str weight;      /* of its share; n == 0: 1 */
    struct str model;       /* n == 0: any */
    struct str query;       /* what the user said last */
    struct str messages;    /* a JSON list of OpenAI's messages, without raw newlines */
    struct str traceparent; /* n == 0: none */
    struct str request_id;  /* of the request that asks, for logs; n == 0: none */
    struct str scope;       /* the scope that may share it; n == 0: not shared */
    /* The name under which it counts against budgets of the account until it ends
     * (lua/account/budgets.lua); n == 0: none. A question that is joined (not `is_new`) keeps its
     * own. */
    struct str grant;
    double temperature;   /* below 0: the engine's own */
    unsigned max_tokens;  /* 0: the engine's own */
    uint64_t deadline_ms; /* from now */
    /* The owner follows the topic itself (shared/queue/follow.h) from on_asked on: on_end then
     * reports only earlier failures and the deadline. */
    bool is_followed;
};

struct question;

/* `events` must outlive the question. */
struct question *question_start(struct queue *queue, const struct question_settings *settings,
                                const struct question_events *events, void *context);
/* Stops waiting without a callback. When the last waiter leaves, the query is removed from the
 * queue and an engine's claim of it ends; a shared question is kept for `keep_ms` first. Accepts
 * NULL. */
void question_cancel(struct question *question, uint64_t keep_ms);

#endif
