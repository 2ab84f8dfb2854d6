/* SPDX-License-Identifier: MIT
 * engine_owners.c - see engine_owners.h. */
#include "services/broker/socket/engine_owners.h"

#include "shared/base/mem.h"

struct engine_owner *engine_owner_enter(struct engine_owners *owners, struct str name)
{
    list_for_each (struct engine_owner, owner, &owners->list, link)
        if (str_eq(str_of(owner->name), name)) {
            owner->socket_n++;
            return owner;
        }
    struct engine_owner *owner = mem_zeroed(sizeof *owner);
    owner->name = str_copy(name);
    owner->socket_n = 1;
    list_append(&owners->list, &owner->link);
    return owner;
}

void engine_owner_leave(struct engine_owner *owner)
{
    if (--owner->socket_n > 0)
        return;
    list_remove(&owner->link);
    free(owner->name);
    free(owner);
}

bool engine_owner_may_poll(const struct engine_owners *owners, const struct engine_owner *owner)
{
    return owner->poll_n < ENGINE_POLLS_ALWAYS || owner->poll_n + owners->poll_n < ENGINE_POLLS_MAX;
}

void engine_owner_begin_poll(struct engine_owners *owners, struct engine_owner *owner)
{
    owner->poll_n++;
    owners->poll_n++;
}

void engine_owner_end_polls(struct engine_owners *owners, struct engine_owner *owner, unsigned n)
{
    owner->poll_n -= n;
    owners->poll_n -= n;
}
