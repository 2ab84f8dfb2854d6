/* SPDX-License-Identifier: MIT
 * call.c - see call.h. */
#include "shared/redis/call_internal.h"

#include <stdlib.h>

void call_detach(struct call *call)
{
    if (call->slot == NULL)
        return;
    call->slot->call = NULL;
    call->slot = NULL;
}

void call_leave(struct call *call, call_orphan_cb *on_orphan, void *context)
{
    struct call_slot *slot = call->slot;
    if (slot == NULL)
        abort();
    call_detach(call);
    slot->on_orphan = on_orphan;
    slot->context = context;
}
