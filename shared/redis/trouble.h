/* SPDX-License-Identifier: MIT
 *
 * trouble: reasons why Redis refuses work, recognised by the start of its error replies: what
 * operators must do, what clients see, and what still works. One table for the connections of loops
 * (conn, turn, bus) and of blocking threads (blocking). Pure functions, any thread.
 */
#ifndef PARLEY_REDIS_TROUBLE_H
#define PARLEY_REDIS_TROUBLE_H

#include "shared/base/err.h"

enum redis_trouble {
    REDIS_FINE,
    REDIS_AWAY,       /* no connection */
    REDIS_FULL,       /* at maxmemory: verbs that free memory or only read run */
    REDIS_NO_ROOM,    /* the same, and the function library is not loaded: no verb runs */
    REDIS_MISCONF,    /* its last snapshot or append-only write failed */
    REDIS_READONLY,   /* a replica */
    REDIS_NOREPLICAS, /* fewer replicas than min-replicas-to-write */
    REDIS_LOADING,
    REDIS_BUSY, /* a script runs for too long */
    REDIS_MASTERDOWN,
    REDIS_CLUSTER,       /* a cluster that is down or moves keys */
    REDIS_MOVED,         /* another server of the cluster has the slot */
    REDIS_ASK,           /* the slot is being moved */
    REDIS_UNKNOWN_PLACE, /* no Sentinel or member has said where the server is */
    REDIS_EMPTIED,       /* one server of several that has lost what the others agreed on */
    REDIS_FOREIGN,       /* it holds another cluster, or another number of shards */
    REDIS_WRONGPASS,     /* from here on: waiting does not help */
    REDIS_NOAUTH,
    REDIS_NOPERM,
    REDIS_TOO_OLD,
    REDIS_UNTRUSTED, /* its certificate is not accepted (tls.h) */
    REDIS_TROUBLE_NR
};

struct redis_trouble_info {
    const char *name;   /* "full", as logged */
    const char *prefix; /* start of Redis's error; NULL: not recognised by it */
    enum err error;     /* for the client of a verb that was refused */
    /* For operators: what is wrong and what to do about it. */
    const char *text;
    /* Temporary or fixed in Redis: a refused call may be resent. */
    bool is_passing;
    /* The connection stays open, and the next successful turn ends the trouble. Otherwise it is
     * closed and reconnected. */
    bool is_kept;
};

/* Classifies an error reply of Redis. REDIS_FINE: none of these, so it is our own bug. */
enum redis_trouble redis_trouble_of(const char *error);
/* Never NULL. */
const struct redis_trouble_info *redis_trouble_info(enum redis_trouble trouble);
/* Returns whether nothing can be written: the node is then not ready. */
bool redis_trouble_is_outage(enum redis_trouble trouble);

#endif
