/* SPDX-License-Identifier: MIT
 *
 * question: a query that Parley itself puts into the queue and waits for: a question over
 * documents, one to be rewritten, a step of the agent. It has a topic of its own ("ask." and 24 hex
 * digits), is in no user's list of topics, and is deleted when the last one that waits for it is
 * served (lua/queue/ask.lua, ask_leave.lua).
 *
 * Questions of one scope that give an engine the very same are one query, on whichever nodes they
 * wait. All on the loop's thread of the queue.
 */
#ifndef PARLEY_QUEUE_QUESTION_H
#define PARLEY_QUEUE_QUESTION_H

#include "shared/queue/queue.h"

/* How long a shared question stays that nobody waits for any more: for a client that is to come
 * back. */
enum { QUESTION_KEEP_MS = 60000 };

enum question_outcome {
    QUESTION_DONE,
    QUESTION_NO_ENGINE, /* none is waiting, at work or between two polls */
    QUESTION_FULL,      /* the queue, or what one account may have waiting in it */
    QUESTION_TIMEOUT,
    QUESTION_FAILED, /* its engines gave up, or it was cancelled */
    QUESTION_LOST,   /* Redis was lost, or refused it, before it was known to be in the queue; or a
                        look for its answer failed while Redis was there */
    QUESTION_NR
};

struct question_end {
    enum question_outcome outcome;
    struct str answer, think, model; /* texts, of DONE; model may be empty */
    struct str reason;               /* for people, of FAILED */
    uint64_t depth;                  /* of FULL */
    uint64_t eta_s; /* of FULL; of NO_ENGINE when the first one has rested; 0: unknown */
    enum err error; /* of LOST: ERR_REDIS_LOST, or what Redis refused it for */
};

struct question_events {
    /* The question is in the queue or has its answer there: `topic` (a name, its Seq is 1) lives as
     * long as the question. `is_new`: nobody had asked it before. NULL: not wanted. */
    void (*on_asked)(void *context, struct str topic, bool is_new);
    /* Exactly once, unless the question is cancelled, never before question_start returns; the
     * question is gone. What `end` holds is valid inside the call only. */
    void (*on_end)(void *context, const struct question_end *end);
};

/* All borrowed during question_start only. */
struct question_settings {
    struct str user;        /* whose it is, as engines see it: 1 to 128 bytes */
    struct str user_name;   /* whose turn it takes: the same as a name, in its namespace */
    struct str account;     /* whose waiting queries it counts among: a name, see buf_put_name */
    unsigned max_waiting;   /* of those; 0: only the queue's own bound */
    struct str weight;      /* of its share; n == 0: 1 */
    struct str model;       /* n == 0: any */
    struct str query;       /* what the user said last */
    struct str messages;    /* a JSON list of OpenAI's messages, without raw newlines */
    struct str traceparent; /* n == 0: none */
    struct str scope;       /* who may share it; n == 0: nobody */
    double temperature;     /* below 0: the engine's own */
    unsigned max_tokens;    /* 0: the engine's own */
    uint64_t deadline_ms;   /* from now */
    /* The owner follows the topic itself (shared/queue/follow.h) from on_asked on: then on_end
     * reports only what goes wrong before, and the deadline. */
    bool is_followed;
};

struct question;

/* `events` must outlive the question. */
struct question *question_start(struct queue *queue, const struct question_settings *settings,
                                const struct question_events *events, void *context);
/* Ends it without a callback: nobody waits any more. When nobody else does either the query is
 * taken out of the queue, and an engine's claim of it ends; a shared one stays for `keep_ms` first.
 * Accepts NULL. */
void question_cancel(struct question *question, uint64_t keep_ms);

#endif
