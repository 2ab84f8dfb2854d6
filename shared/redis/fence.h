/* SPDX-License-Identifier: MIT
 *
 * fence: holds back the replies of a turn's verbs that acknowledge what they stored (`Durable: yes`
 * in their headers) until a replica, or Redis's append-only file, has it (--durability). One per
 * turn, on the loop's thread; without the setting there is none. The turn knows it as a struct
 * turn_fence only.
 *
 * WAIT blocks everything that is sent after it on its connection, and answers for writes of its own
 * connection only. So a fence has a connection of its own: it writes a key of that shard
 * (lua/turn/fence.lua) after the replies that it holds have come, and then waits. One such round
 * covers all replies that came before it. A reply that is not covered in time ends its
 * call with ERR_NOT_DURABLE: the verb has run, and may be sent again.
 *
 * A round counts only for replies of the same history of Redis's data (its replication id, which
 * changes whenever another server becomes the master): a fence at a new master says nothing about
 * what the old one stored.
 */
#ifndef PARLEY_REDIS_FENCE_H
#define PARLEY_REDIS_FENCE_H

#include "shared/redis/turn.h"

/* How long a reply is held, and a round waits, at most. A round must not be shorter: each one
 * writes again, so with `appendfsync everysec` a round of one second would always time out. */
enum { FENCE_WAIT_MS = 5000 };

/* Right after turn_create: holds the replies of that turn, as its config.durable says, and ends
 * with it. */
void fence_create(struct turn *turn);

#endif
