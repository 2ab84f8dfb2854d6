/* SPDX-License-Identifier: MIT
 * sql_internal.h - shared by the calls (sql.c) and the children (sql_slots.c) of a store. */
#ifndef PARLEY_SERVICES_WORKFLOW_SQL_INTERNAL_H
#define PARLEY_SERVICES_WORKFLOW_SQL_INTERNAL_H

#include "services/workflow/sql/child.h"
#include "services/workflow/sql/sql.h"
#include "shared/base/sm.h"
#include "shared/op/fair_slots.h"

enum {
    SLOTS_MAX = 4,
    AWAY_MS = 6000, /* that a call waits while no child has the database open */
    TABLES_WAIT_MS = 2000,
    RUN_BYTES = 64,
    REASON_BYTES = 512
};

enum slot_state { SLOT_EMPTY, SLOT_STARTING, SLOT_IDLE, SLOT_WORKING, SLOT_RESTING };

/* Place for one child. */
struct slot {
    struct sql_store *store;
    enum slot_state state;
    uint64_t number; /* for the log of its states */
    struct child *child;
    struct sql_call *call;
    struct deadline limit; /* of its state */
};

struct sql_call {
    struct sql_store *store;
    struct list_link link;   /* of those that wait, or that end */
    struct fair_entry entry; /* its turn, or its right to a child until it ends */
    struct slot *slot;       /* that works on it */
    enum database_task task;
    char run[RUN_BYTES];
    uint64_t step, since_ms;
    char *text;
    unsigned loss_n;
    enum sql_outcome fallback; /* of a CHECK: the outcome if the statement has not happened */
    sql_end_cb *on_end;
    sql_tables_cb *on_tables;
    void *context;
    struct deadline limit; /* of its wait */
    bool is_ending;        /* with this, in steps: */
    enum sql_outcome outcome;
    char reason[REASON_BYTES];
};

struct sql_store {
    struct loop *loop;
    const struct sql_settings *settings;
    struct slot slots[SLOTS_MAX];
    struct fair_slots *turns;    /* whose call a child works on next */
    struct list waiting, ending; /* struct sql_call */
    struct steps steps;          /* end those that are ending */
    unsigned waiting_n, rest_ms;
    json_t *tables;             /* of the last description; NULL: it failed, or there was none */
    uint64_t tables_ms;         /* 0: there was none */
    char trouble[REASON_BYTES]; /* why the last child could not open the database; "": it did */
    struct log_limit trouble_said;
};

/* --- sql.c: calls, each in a queue or in a slot --- */

/* Puts it among those that wait: first, if it has had a child. */
void sql_call_wait(struct sql_call *call, bool is_again);
void sql_call_leave(struct sql_call *call);
/* Their call is in no queue and in no slot. Its callback runs, and it is freed: inside the call,
 * or, of sql_call_end_later, from the loop. */
void sql_call_end(struct sql_call *call, enum sql_outcome outcome, const char *reason);
void sql_call_end_later(struct sql_call *call, enum sql_outcome outcome, struct str reason);
/* With what its child replied. */
void sql_call_finish(struct sql_call *call, const json_t *frame);

/* --- sql_slots.c: children, each in a slot --- */

/* All empty. */
void sql_slots_init(struct sql_store *store);
/* Gives idle children the calls that wait, and starts children for those that are left. */
void sql_slots_pump(struct sql_store *store);
/* Returns whether any child has the database open. */
bool sql_slots_reach(const struct sql_store *store);
/* Ends its child. Returns the call that it worked on, which is the caller's to deal with, or NULL.
 */
struct sql_call *sql_slot_empty(struct slot *slot);

#endif
