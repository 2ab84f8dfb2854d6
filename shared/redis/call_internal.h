/* SPDX-License-Identifier: MIT
 *
 * call_internal: the other end of a call, where its reply is awaited: for call.c, batch.c and the
 * files of turn. On the loop's thread.
 */
#ifndef PARLEY_REDIS_CALL_INTERNAL_H
#define PARLEY_REDIS_CALL_INTERNAL_H

#include "shared/redis/call.h"

struct verb_info;

/* Awaits the reply of one verb for its call, for `on_orphan` after call_leave, or for nobody. */
struct call_slot {
    struct call *call; /* NULL: detached, left, or none */
    call_reply_cb *on_reply;
    call_orphan_cb *on_orphan; /* NULL: nobody */
    void *context;             /* of `on_orphan` */
    struct call_slot *next;    /* of its lane */
    const struct verb_info *verb;
    uint64_t begin_us;
    uint64_t owner, user; /* see struct call_start */
    size_t at, n;         /* its words in its lane's bytes */
};

#endif
