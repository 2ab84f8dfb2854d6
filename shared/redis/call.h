/* SPDX-License-Identifier: MIT
 *
 * call: the handle of a running verb, held by its owner: a request, a stream, a question, a
 * WebSocket, the queue itself. The handle is part of its owner and may be destroyed with it at any
 * time; a slot of the turn awaits the reply (batch.h), so a call needs no memory of its own. On the
 * thread of the turn's loop.
 *
 * A call ends in exactly one of three ways:
 *
 *     answered   its on_reply runs, once, never inside the function that begins it
 *     detached   call_detach: no callback runs, but the verb may
 *     left       call_leave: another owner is notified once and handles what the verb did
 *
 * The handle is free before its owner is called, so the owner may reuse it for another verb inside
 * the callback. After a turn is destroyed none of its calls is running.
 *
 *     call_partials(turn_call(turn, &reader->call, on_partials), .topic = topic, ...);
 *     ...
 *     call_detach(&reader->call);        in the destructor, running or not
 */
#ifndef PARLEY_REDIS_CALL_H
#define PARLEY_REDIS_CALL_H

#include "shared/base/container_of.h"
#include "shared/base/err.h"
#include "shared/base/str.h"

struct call_slot;
struct blocking_call;
struct nonce_id;
struct shards;
struct turn;

/* Zeroed initially. It must not move while it is running. */
struct call {
    struct call_slot *slot; /* NULL: not running */
};

/* `reply` is the verb's string, valid inside the callback only; `at` is NULL on an error:
 * ERR_REDIS_LOST (the verb may have run), ERR_STORE_FULL, ERR_STORE_READONLY or ERR_STORE_BUSY (it
 * has not run, trouble.h) or ERR_INTERNAL (the script failed). */
typedef void call_reply_cb(struct call *call, enum err error, struct str reply);
typedef void call_orphan_cb(void *context, enum err error, struct str reply);

/* Where one verb runs and who gets its reply. Made by shards_call, shards_forget, turn_call,
 * turn_forget, request_call or blocking_start, and taken by value. */
struct call_start {
    struct shards *shards; /* the verb's arguments select the shard; or */
    struct turn *turn;
    struct call *call;       /* not running; NULL: nobody needs the reply */
    call_reply_cb *on_reply; /* of `call` */
    /* The client's nonce, used up by the first verb that takes one; NULL or unset: none. */
    struct nonce_id *nonce;
    /* Whose verb it is: slow ones and readers take turns by owner, then by user (batch.h); 0: none.
     */
    uint64_t owner, user;
    struct blocking_call *blocking; /* instead of these: a thread's own connection (blocking.h) */
};

static inline bool call_is_under_way(const struct call *call)
{
    return call->slot != NULL;
}

/* The owner gets no callback any more. Does nothing if the call is not running. */
void call_detach(struct call *call);

/* For an owner that ends while its reply is still needed: `on_orphan` runs with `context` instead,
 * even when the turn is destroyed, but not for a call that was begun inside turn_destroy. Aborts if
 * the call is not running. */
void call_leave(struct call *call, call_orphan_cb *on_orphan, void *context);

#endif
