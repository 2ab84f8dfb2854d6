/* SPDX-License-Identifier: MIT
 *
 * run: one run as its driver holds it, between what is stored. For run/ only: run.c has its states
 * and says when it may continue, supervisor.c drives it, step.c stores what it decided,
 * corrections.c takes what people correct, takeover.c brings it here and keeps it. On the loop's
 * thread.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_RUN_H
#define PARLEY_SERVICES_WORKFLOW_RUN_H

#include "services/workflow/agents/agent.h"
#include "services/workflow/run/runs.h"
#include "services/workflow/trees/trees.h"
#include "shared/lease/leases.h"
#include "shared/op/fair_slots.h"
#include "shared/queue/vacancy.h"

enum { RUN_COMPLAINT_BYTES = 200, RUN_MODEL_BYTES = 512 };

enum run_state {
    RUN_WAITING, /* for its turn; it may have to be read again */
    RUN_CROWDED, /* the queue has no room for its question */
    RUN_LOADING, /* what is stored of it is read */
    RUN_READING, /* the workflows file that it began with is read */
    RUN_CLOSING, /* its question has passed its deadline */
    RUN_WORKING, /* an agent works */
    RUN_STORING, /* a step is stored */
    RUN_ENDED
};

struct run {
    struct lease lease; /* its id: <session>.<n> */
    struct runs *runs;
    enum run_state state;
    uint64_t number;    /* for the log of its states */
    struct str session; /* inside its id */
    uint64_t n;
    struct fair_entry entry;
    uint64_t bytes; /* that it takes, when it is read; 0: not known yet */
    /* Own memory. Names: account, user_name. These three stay while it waits. */
    char *account, *user_name, *traceparent;
    char *user, *session_id, *request_id, *verb;
    struct trees *trees;          /* a reference; NULL: not read yet */
    const struct tree_node *node; /* NULL: the router, which is in no tree */
    const struct agent_entry *agent;
    json_t *body;       /* messageBody */
    uint64_t step, seq; /* of the last stored step and frame */
    bool was_approved;  /* a person has said yes to it */
    bool is_verb_new;   /* the router has found it, and it is not stored yet */
    struct call call;

    /* While an agent works: */
    unsigned attempt;
    uint64_t began_ms; /* clock_mono_ms of its first attempt */
    uint64_t until_ms; /* the time of this attempt */
    const struct agent_kind *kind;
    void *running; /* what the kind started; NULL: nothing */
    struct agent_task task;
    struct deadline deadline;
    char complaint[RUN_COMPLAINT_BYTES];
    char *verbs; /* own memory; NULL: not for this agent */

    /* While it is crowded: */
    struct vacancy_wait vacancy;
    char model[RUN_MODEL_BYTES]; /* a name */
    bool is_again;               /* it was: the same attempt continues when it is read */
    bool is_late;                /* the time of that attempt is over */

    /* While its step is stored: where it goes then. */
    const struct tree_node *after;
    bool is_over; /* nowhere: it has ended, or waits */

    /* A run that is read: */
    char *version; /* of the file; own memory */
    char *agent_name;
    bool is_waiting;   /* its question is open */
    uint64_t question; /* step of its newest question; 0: none */
    json_t *asked;     /* that question */
    json_t *answers;   /* to it */
    char *question_status;
    uint64_t created_ms;
};

struct runs {
    struct workflow *workflow;
    struct leases leases;
    struct fair_slots *turns; /* a slot is a byte */
    uint64_t memory_bytes;
    uint64_t counted_bytes; /* in the metrics */
    size_t crowded_n;
    bool is_filling;    /* inside runs_fill */
    struct trees *read; /* the last version that was read from Redis; NULL: none */
    /* Set by supervisor.c: it is the run's turn, or it is read; carries on where it is. */
    void (*go_on)(struct run *run);
    /* Its step is stored: goes to the next agent. */
    void (*enter)(struct run *run, const struct tree_node *node);
};

/* --- run.c --- */

void run_move(struct run *run, enum run_state to);
/* A new one in that state, with nothing but its ids. Replaces one that is driven here under a
 * former fence. */
struct run *run_create(struct runs *runs, struct str session, uint64_t n, uint64_t fence,
                       enum run_state state);
/* Ends what its agent does. `is_final`: nobody needs that agent's answer any more. */
void run_stop_agent(struct run *run, bool is_final);
/* Drops it, and ends what its agent does. */
void run_drop(struct run *run, bool is_final);
void turns_init(struct runs *runs);
void turns_fini(struct runs *runs);
/* It continues when it is its turn, possibly inside this function; or it is given to another node.
 */
void run_wait_for_turn(struct run *run);
/* Continues the runs whose turn it is. */
void runs_fill(struct runs *runs);
/* Counts what its agent works on now. */
void run_weigh(struct run *run);
/* The same of one that was read. False: it is too large for now, and waits for its turn again. */
bool run_fits(struct run *run) must_check;
/* The queue did not take its question: it continues when that would, without its turn until then.
 */
void run_wait_for_vacancy(struct run *run, const struct agent_result *result);

/* --- step.c --- */

/* The content of a step. */
struct run_step {
    bool is_yes;
    double confidence;
    struct str reason;
    unsigned attempt;
    uint64_t ms;
};

/* The current agent has decided: stores the step and moves the run by its tree. */
void run_decide(struct run *run, const struct run_step *step);
/* A person rejected it, or nobody answered in time: ends it. */
void run_end_rejected(struct run *run, struct str reason, bool is_expired);
/* Goes to another agent without a decision of the current one: on_timeout. */
void run_divert(struct run *run, const struct tree_node *to, struct str reason);
/* Something of it is broken, or it took too many steps. */
void run_fail(struct run *run, struct str reason);

/* --- corrections.c --- */

/* Takes what the approvers have corrected in their answers; whether there is any. *ret_fits: false
 * if messageBody gets too large. */
bool run_correct(struct run *run, bool *ret_fits);

/* --- takeover.c --- */

void run_load(struct run *run);
/* The user of a name as engines see it, in own memory. */
char *run_plain_user(struct str user_name);
extern const struct lease_kind run_leases;

#endif
