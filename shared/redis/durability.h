/* SPDX-License-Identifier: MIT
 *
 * durability: checks whether Redis may lose acknowledged data, because of an eviction policy or
 * without an append-only file, and which history its data has. It is queried once per connection,
 * never polled. If the user has no permission (ACL, renamed commands), there are no warnings. On
 * the thread of the connection.
 */
#ifndef PARLEY_REDIS_DURABILITY_H
#define PARLEY_REDIS_DURABILITY_H

#include "shared/base/buf.h"
#include "shared/base/log.h"
#include "shared/redis/conn.h"

enum durability_warning {
    DURABILITY_EVICTS = 1, /* maxmemory-policy is not noeviction */
    DURABILITY_NO_AOF = 2,
    DURABILITY_NO_FSYNC = 4,    /* appendfsync no */
    DURABILITY_UNCONFIRMED = 8, /* what --durability requires does not come (fence.h) */
    DURABILITY_EMPTIED = 16,    /* the only server came back without its record of the cluster */
};

enum { HISTORY_BYTES = 41 };

struct durability {
    unsigned warnings;  /* a set of enum durability_warning; of the last connection */
    bool has_lost_data; /* see DURABILITY_EMPTIED; stays */
    /* The server's replication id, which changes whenever another server becomes the master: 40
     * hex digits, or "" while it is not known. */
    char history[HISTORY_BYTES];
    bool needs_history; /* set by its owner (fence.h): if Redis does not say it, that is logged */
    uint64_t since_ms;  /* when the connection was made */
    struct log_limit limit;
};

/* Queries Redis on a new connection, before anything is written there; `durability` must outlive
 * the connection. Each warning is logged once per process. */
void durability_ask(struct redis_conn *conn, struct durability *durability);

/* Puts a sentence for each warning, each after a space. */
void durability_put(struct buf *b, unsigned warnings);

/* Reads the reply of INFO; pure. */
unsigned durability_read_info(struct str info);

#endif
