/* SPDX-License-Identifier: MIT
 * sm.c - see sm.h. */
#include "shared/base/sm.h"

#include <stdatomic.h>
#include <stdlib.h>

uint64_t sm_number(void)
{
    static _Atomic uint64_t last;
    return atomic_fetch_add(&last, 1) + 1;
}

static const char *name_of(const struct sm *sm, unsigned state)
{
    return state < sm->state_n ? sm->states[state].name : "?";
}

void sm_report(const struct sm *sm, uint64_t id, unsigned from, unsigned to)
{
    bool is_allowed = from < sm->state_n && to < sm->state_n && sm->states[from].next >> to & 1;
    log_write(is_allowed ? LOG_DEBUG : LOG_ERROR,
              is_allowed ? "moved" : "invalid state transition: this is a bug in Parley",
              LOG_S("what", sm->name), LOG_U("number", id), LOG_S("from", name_of(sm, from)),
              LOG_S("to", name_of(sm, to)));
    if (!is_allowed)
        abort();
}
