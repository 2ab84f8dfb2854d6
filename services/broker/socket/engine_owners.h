/* SPDX-License-Identifier: MIT
 *
 * engine_owners: each account's share of the polls that a thread holds for sockets of engines. Each
 * costs memory here and an entry in Redis for as long as its engine likes. An account may have
 * as many as are free, so that some are left for the next one (as in websocket_owners.c), and
 * always as many as one socket has slots. One per thread, in the broker.
 */
#ifndef PARLEY_BROKER_ENGINE_OWNERS_H
#define PARLEY_BROKER_ENGINE_OWNERS_H

#include "shared/base/list.h"
#include "shared/base/str.h"

#include <stdbool.h>

enum { ENGINE_POLLS_MAX = 8192, ENGINE_POLLS_ALWAYS = 64 };

struct engine_owner {
    struct list_link link;
    char *name;
    unsigned socket_n, poll_n;
};

struct engine_owners {
    struct list list; /* struct engine_owner */
    unsigned poll_n;
};

/* One more socket of that account. */
struct engine_owner *engine_owner_enter(struct engine_owners *owners, struct str name);
/* Its last socket frees it. */
void engine_owner_leave(struct engine_owner *owner);
bool engine_owner_may_poll(const struct engine_owners *owners, const struct engine_owner *owner);
void engine_owner_begin_poll(struct engine_owners *owners, struct engine_owner *owner);
void engine_owner_end_polls(struct engine_owners *owners, struct engine_owner *owner, unsigned n);

#endif
