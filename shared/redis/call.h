/* SPDX-License-Identifier: MIT
 *
 * call: a verb under way, as its owner holds it: a request, a stream, a question, a WebSocket, the
 * queue itself. The handle is part of its owner, and may go with it at any time; what waits for the
 * reply is a slot of the turn (batch.h), so a call costs no memory of its own. On the thread of
 * the turn's loop.
 *
 * A call ends in exactly one of three ways:
 *
 *     answered   its on_reply runs, once, never inside the function that begins it
 *     detached   call_detach: nothing runs; the verb does what it does
 *     left       call_leave: another owner is notified once, and looks after what the verb did
 *
 * The handle is free again before any of these calls its owner, which may begin another verb with
 * it inside. Once a turn is destroyed no call of it is under way.
 *
 *     call_partials(turn_call(turn, &look->call, on_looked), .topic = topic, ...);
 *     ...
 *     call_detach(&look->call);        in the destructor, whether it is under way or not
 */
#ifndef PARLEY_REDIS_CALL_H
#define PARLEY_REDIS_CALL_H

#include "shared/base/err.h"
#include "shared/base/str.h"

struct call_slot;
struct sync_call;
struct nonce_id;
struct shards;
struct turn;

/* Zeroed to begin with. It must not move while it is under way. */
struct call {
    struct call_slot *slot; /* NULL: nothing is under way */
};

/* `reply` is the verb's string, valid inside the callback only; `at` is NULL with an error, which
 * is ERR_REDIS_LOST (it is unknown whether the verb ran), ERR_STORE_FULL, ERR_STORE_READONLY or
 * ERR_STORE_BUSY (it has not run, trouble.h) or ERR_INTERNAL (the script broke). */
typedef void call_reply_cb(struct call *call, enum err error, struct str reply);
typedef void call_orphan_cb(void *context, enum err error, struct str reply);

/* What a verb runs on, and who hears of its reply; for one verb. Made by shards_call,
 * shards_forget, turn_call, turn_forget, request_call or sync_start, and taken by value. */
struct call_start {
    struct shards *shards; /* the verb's arguments say on which of them; or */
    struct turn *turn;
    struct call *call;       /* not under way; NULL: nobody needs the reply */
    call_reply_cb *on_reply; /* of `call` */
    /* The client's nonce, used up by the first verb that takes one; NULL or unset: none. */
    struct nonce_id *nonce;
    struct sync_call *sync; /* in place of all these: a thread's own connection (sync.h) */
};

static inline bool call_is_under_way(const struct call *call)
{
    return call->slot != NULL;
}

/* The owner hears no more of it. Nothing happens when it is not under way. */
void call_detach(struct call *call);

/* The owner goes, but the reply is needed: `on_orphan` runs with `context` in its place, also when
 * the turn is destroyed; not for a call that was begun inside turn_destroy. Aborts when the call is
 * not under way. */
void call_leave(struct call *call, call_orphan_cb *on_orphan, void *context);

#endif
