/* SPDX-License-Identifier: MIT
 *
 * agent: a table of functions for each kind of agent, which runs in one step of a workflow. The
 * supervisor (run/runs.h) owns the order of steps, deadlines, retries and what is stored; a
 * kind only tries once and says what came of it.
 *
 * An attempt that another node repeats, because the first one died, has the same session, run, step
 * and attempt: a kind that acts on the world uses them to act once. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_AGENT_H
#define PARLEY_SERVICES_WORKFLOW_AGENT_H

#include "shared/base/json.h"

struct agent_entry; /* trees/trees.h */
struct workflow;

/* The member of messageBody with what people said in the deployed chat where an agent had stopped:
 * a list of {"agent","objection","correction"}, the newest one last. */
#define BODY_CORRECTIONS "hitl_corrections"

/* One attempt. All is borrowed until its end or cancel, the struct itself too. */
struct agent_task {
    const struct agent_entry *agent;
    struct str session; /* sid: 32 hex digits */
    uint64_t run, step;
    unsigned attempt; /* from 1 */
    struct str verb;
    struct str verbs;   /* a list with commas, for the agent that chooses one; n == 0 for others */
    const json_t *body; /* messageBody, an object */
    struct str account; /* a name: the account it counts for */
    struct str user;    /* as engines see it */
    struct str user_name;
    struct str weight;
    unsigned max_waiting; /* questions of the account in the queue; 0: no limit of its own */
    struct str traceparent;
    struct str request_id; /* of the run, for the logs of engines */
    uint64_t timeout_ms;   /* of this attempt: the supervisor cancels it then */
    const char *complaint; /* why the last attempt's answer was refused; NULL: it was not */
};

enum agent_outcome {
    AGENT_DECIDED,
    AGENT_NO_ANSWER,  /* unreachable, failed, no engine: `reason` says which */
    AGENT_BAD_ANSWER, /* it has answered with something that is no decision */
    AGENT_REFUSED,    /* it will not do this, however often it is asked: a no */
    AGENT_NO_ROOM,    /* the queue did not take its question: try again when it does (vacancy.h) */
    AGENT_NR
};

/* Valid inside the callback only. */
struct agent_result {
    enum agent_outcome outcome;
    bool is_yes;       /* of DECIDED */
    double confidence; /* of DECIDED: 0 to 1 */
    struct str reason; /* for people: one sentence, UTF-8; never empty */
    json_t *output;    /* of DECIDED: members for messageBody, borrowed; NULL: none */
    unsigned shard;    /* of NO_ROOM: that refused it */
    bool needs_engine; /* of NO_ROOM: there was none */
};

/* Runs once, never inside `start`, and not after `cancel`. What `start` returned is freed when it
 * returns. */
typedef void agent_end_cb(void *context, const struct agent_result *result);

struct agent_kind {
    const char *name; /* as in the file's `kind` */
    bool keeps_time;  /* it ends each attempt itself, because it must know what happened */
    void *(*start)(struct workflow *workflow, const struct agent_task *task, agent_end_cb *on_end,
                   void *context);
    /* Ends an attempt without its callback. `is_final`: the run has no use for its answer any more;
     * otherwise another node may ask for the same attempt. */
    void (*cancel)(void *running, bool is_final);
};

extern const struct agent_kind agent_model, agent_sql, agent_http;

#endif
