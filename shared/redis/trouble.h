/* SPDX-License-Identifier: MIT
 *
 * trouble: why Redis does not do what it is asked, as its error replies begin: what operators are
 * to do about it, what clients hear, and what still works. One table, for the connections of loops
 * (conn, turn, bus) and of threads that wait (sync). Pure functions, any thread.
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
    REDIS_CLUSTER,   /* a cluster that is down or moves keys */
    REDIS_EMPTIED,   /* one server of several that has lost what the others agreed on */
    REDIS_FOREIGN,   /* it holds another cluster, or another number of shards */
    REDIS_WRONGPASS, /* from here on: waiting alone mends nothing */
    REDIS_NOAUTH,
    REDIS_NOPERM,
    REDIS_TOO_OLD,
    REDIS_TROUBLE_NR
};

struct redis_trouble_info {
    const char *name;   /* "full", as logged */
    const char *prefix; /* how Redis's error begins; NULL: it is not known by that */
    enum err error;     /* for the client of a verb that was refused for it */
    /* For operators: what is wrong and what to do about it. */
    const char *text;
    /* It passes by itself or is mended in Redis: a refused call may be sent again. */
    bool is_passing;
    /* The connection stands, and the next turn that succeeds ends the trouble. Else the connection
     * is given up, and made again. */
    bool is_kept;
};

/* What an error reply of Redis means. REDIS_FINE: none of these, our own mistake. */
enum redis_trouble redis_trouble_of(const char *error);
/* Never NULL. */
const struct redis_trouble_info *redis_trouble_info(enum redis_trouble trouble);
/* Nothing can be written: the node is not ready. */
bool redis_trouble_is_outage(enum redis_trouble trouble);

#endif
