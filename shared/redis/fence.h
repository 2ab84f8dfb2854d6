/* SPDX-License-Identifier: MIT
 *
 * fence: holds back the replies of a turn's verbs that acknowledge what they stored (`Durable: yes`
 * in their headers) until a replica, or Redis's append-only file, has it (--durability). Used by
 * turn.c only; one per turn, on the loop's thread. Without the setting there is none.
 *
 * WAIT blocks everything that is sent after it on its connection, and answers for writes of its own
 * connection only. So a fence has a connection of its own, with a turn of its own: it writes a key
 * of that shard (lua/turn/fence.lua) after the replies that it holds have come, and then waits. One
 * such round covers all replies that came before it. A reply that is not covered in time ends its
 * call with ERR_NOT_DURABLE: the verb has run, and may be sent again.
 *
 * A round counts only for replies of the same history of Redis's data (its replication id, which
 * changes whenever another server becomes the master): a fence at a new master says nothing about
 * what the old one stored.
 */
#ifndef PARLEY_REDIS_FENCE_H
#define PARLEY_REDIS_FENCE_H

#include "shared/redis/batch.h"

/* How long a reply is held, and a round waits, at most. A round must not be shorter: each one
 * writes again, so with `appendfsync everysec` a round of one second would always time out. */
enum { FENCE_WAIT_MS = 5000 };

struct fence;

/* For `turn`, whose configuration it borrows: at the same server, with config.durable. */
struct fence *fence_create(struct turn *turn, const struct redis_address *address) must_check;
/* Ends all calls that it holds with ERR_REDIS_LOST. Accepts NULL. */
void fence_destroy(struct fence *fence);

/* Takes over the slot of a call that awaits its reply, and copies both: from now on the call points
 * to the copy. It ends by turn_end_call, in a later turn of the loop. */
void fence_hold(struct fence *fence, struct call_slot *slot, struct str reply);

/* At the end of each turn of the loop: begins a round if there is something to confirm. */
void fence_flush(struct fence *fence);

/* Asks on a new connection which history its server has. Before anything else that writes. */
void fence_ask_history(struct turn *turn);

/* Whether the last round was confirmed in time, or there was none. */
bool fence_is_confirmed(const struct fence *fence);
/* Whether, besides, no round has lately taken so long that a claim in a held reply could end first:
 * more than a quarter of config.delivery_ms. */
bool fence_is_prompt(const struct fence *fence);

#endif
