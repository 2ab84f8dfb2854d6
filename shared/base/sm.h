/* SPDX-License-Identifier: MIT
 *
 * sm: a state machine as a table of allowed moves that is checked at run time. A move that the
 * table does not allow is our own bug: the process logs the move and aborts, in release builds too.
 * Allowed moves are logged at debug level. The module stores nothing and decides nothing: the state
 * is a member of its owner, with its own enum, and the table is static. Any thread.
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
 * After its owner is created, only that function writes the member (./dev lint states).
 */
#ifndef PARLEY_BASE_SM_H
#define PARLEY_BASE_SM_H

#include "shared/base/log.h"

/* The bit of a state, for lists of next states. */
#define SM(state) (1u << (state))

struct sm_state {
    const char *name;
    uint32_t next; /* SM of each allowed next state, which includes the state itself only if
                    * listed */
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

/* An id for an owner without its own number: unique in the process, never 0. */
uint64_t sm_number(void);

/* The slow path of sm_move: logs or aborts. */
void sm_report(const struct sm *sm, uint64_t id, unsigned from, unsigned to);

/* Returns `to`. `id` identifies the owner in the log. */
static inline unsigned sm_move(const struct sm *sm, uint64_t id, unsigned from, unsigned to)
{
    bool is_allowed = from < sm->state_n && to < sm->state_n && sm->states[from].next >> to & 1;
    if (!is_allowed || log_is_on(LOG_DEBUG))
        sm_report(sm, id, from, to);
    return to;
}

#endif
