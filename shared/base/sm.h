/* SPDX-License-Identifier: MIT
 *
 * sm: the states of something that a comment draws as a diagram, as a table that is checked. A move
 * that the table does not allow is our own bug: the process says which one and aborts, in release
 * too. Moves that are allowed are logged at debug level. It keeps nothing and decides nothing: the
 * state stays a member of its owner, with its own enum, and the table is static. Any thread.
 *
 *     static const struct sm_state states[] = {
 *         [CONN_DOWN] = {"DOWN", SM(CONN_CONNECTING)},
 *         [CONN_CONNECTING] = {"CONNECTING", SM(CONN_UP) | SM(CONN_DOWN)},
 *         [CONN_UP] = {"UP", SM(CONN_DOWN)},
 *     };
 *     static const struct sm sm = SM_OF("redis connection", states);
 *
 *     static void move(struct conn *conn, enum conn_state to)
 *     {
 *         conn->state = sm_move(&sm, conn->number, conn->state, to);
 *     }
 *
 * Nothing but that one function writes the member once its owner is made (./dev lint states).
 */
#ifndef PARLEY_BASE_SM_H
#define PARLEY_BASE_SM_H

#include "shared/base/log.h"

/* The bit of a state, for lists of those that may follow. */
#define SM(state) (1u << (state))

struct sm_state {
    const char *name;
    uint32_t next; /* SM of each that may follow; itself only when it is among them */
};

struct sm {
    const char *name;
    const struct sm_state *states;
    unsigned state_n; /* 32 at most */
};

#define SM_OF(what, table)                                                                         \
    {                                                                                              \
        .name = (what), .states = (table), .state_n = sizeof(table) / sizeof(table)[0]             \
    }

/* A number for one that has none of its own: unique in the process, never 0. */
uint64_t sm_number(void);

/* The slow half of sm_move: logs, or aborts. */
void sm_report(const struct sm *sm, uint64_t id, unsigned from, unsigned to);

/* Returns `to`. `id`: which one it is, for the log. */
static inline unsigned sm_move(const struct sm *sm, uint64_t id, unsigned from, unsigned to)
{
    bool is_allowed = from < sm->state_n && to < sm->state_n && sm->states[from].next >> to & 1;
    if (!is_allowed || log_is_on(LOG_DEBUG))
        sm_report(sm, id, from, to);
    return to;
}

#endif
