/* SPDX-License-Identifier: MIT
 *
 * durability: whether this Redis may lose what it acknowledged: by an evicting policy, or for want
 * of an append-only file. It is asked once per connection, never polled. Where its user may not ask
 * (ACL, renamed commands) nothing is said. On the thread of the connection.
 */
#ifndef PARLEY_REDIS_DURABILITY_H
#define PARLEY_REDIS_DURABILITY_H

#include "shared/base/buf.h"
#include "shared/redis/conn.h"

enum durability_warning {
    DURABILITY_EVICTS = 1, /* maxmemory-policy is not noeviction */
    DURABILITY_NO_AOF = 2,
    DURABILITY_NO_FSYNC = 4, /* appendfsync no */
};

struct durability {
    unsigned warnings; /* a set of enum durability_warning; of the last connection that was asked */
};

/* Asks; `durability` lives until the connection is destroyed. The log has a line for each warning,
 * once per process. */
void durability_ask(struct redis_conn *conn, struct durability *durability);

/* For people: a sentence for each warning, each after a space. */
void durability_put(struct buf *b, unsigned warnings);

/* What INFO says; pure. */
unsigned durability_read_info(struct str info);

#endif
