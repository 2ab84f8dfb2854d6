/* SPDX-License-Identifier: MIT
 * trouble.c - see trouble.h. */
#include "shared/redis/trouble.h"

/* clang-format off */
static const struct redis_trouble_info table[REDIS_TROUBLE_NR] = {
    [REDIS_FINE] = {"fine", NULL, ERR_INTERNAL, "Redis works.", false, true},
    [REDIS_AWAY] = {"away", NULL, ERR_REDIS_LOST, "Not connected: trying again.", true, false},
    [REDIS_FULL] = {"full", "OOM", ERR_STORE_FULL,
        "Redis is full (its maxmemory is reached): nothing new is stored. Delete what is not needed, or raise maxmemory.", true, true},
    [REDIS_NO_ROOM] = {"no_room", NULL, ERR_STORE_FULL,
        "Redis is full (its maxmemory is reached), and this version's function library does not fit: nothing works. Raise maxmemory.", true, true},
    [REDIS_MISCONF] = {"misconf", "MISCONF", ERR_STORE_READONLY,
        "Redis refuses writes: its last snapshot or append-only write failed (MISCONF). Free disk space, and look at its log.", true, true},
    [REDIS_READONLY] = {"readonly", "READONLY", ERR_STORE_READONLY,
        "Redis refuses writes: it is a read-only replica (READONLY). Let --redis name the primary.", true, true},
    [REDIS_NOREPLICAS] = {"noreplicas", "NOREPLICAS", ERR_STORE_READONLY,
        "Redis refuses writes: too few of its replicas are connected (NOREPLICAS, min-replicas-to-write). Look at its replicas.", true, true},
    [REDIS_LOADING] = {"loading", "LOADING", ERR_STORE_BUSY,
        "Redis loads its data into memory (LOADING): wait until it is done.", true, false},
    [REDIS_BUSY] = {"busy", "BUSY ", ERR_STORE_BUSY,
        "Redis runs a script that does not end (BUSY). If it is not Parley's, end it with SCRIPT KILL or FUNCTION KILL.", true, true},
    [REDIS_MASTERDOWN] = {"masterdown", "MASTERDOWN", ERR_STORE_BUSY,
        "Redis is a replica without its primary (MASTERDOWN). Let --redis name the primary, and look at whether it runs.", true, true},
    [REDIS_CLUSTER] = {"cluster", "CLUSTERDOWN", ERR_STORE_BUSY,
        "Redis is a cluster that is down (CLUSTERDOWN). Look at its nodes.", true, true},
    [REDIS_EMPTIED] = {"emptied", "EMPTIED", ERR_STORE_BUSY,
        "It has lost its data (EMPTIED), and its shards are not used: restore it, or see parley servers --help.", true, false},
    [REDIS_FOREIGN] = {"foreign", "FOREIGN", ERR_STORE_BUSY,
        "A Redis server of --redis holds another cluster than when this process started (FOREIGN): look at --redis, and start it again.", true, false},
    [REDIS_WRONGPASS] = {"wrongpass", "WRONGPASS", ERR_REDIS_LOST,
        "Redis refuses the login (WRONGPASS): correct the user in --redis or the password in --redis-password-file.", false, false},
    [REDIS_NOAUTH] = {"noauth", "NOAUTH", ERR_REDIS_LOST,
        "Redis wants a password (NOAUTH): name a file that holds it with --redis-password-file.", false, false},
    [REDIS_NOPERM] = {"noperm", "NOPERM", ERR_REDIS_LOST,
        "Redis forbids its user in --redis what Parley needs (NOPERM): allow it ~PREFIX*, &PREFIX* and the commands in docs/operations.md.", false, false},
    [REDIS_TOO_OLD] = {"too_old", NULL, ERR_REDIS_LOST,
        "The server in --redis does not know functions: Redis 7 or Valkey 8 is needed.", false, false},
};
/* clang-format on */

enum redis_trouble redis_trouble_of(const char *error)
{
    for (unsigned i = 0; i < REDIS_TROUBLE_NR; i++)
        if (table[i].prefix != NULL &&
            strncmp(error, table[i].prefix, strlen(table[i].prefix)) == 0)
            return (enum redis_trouble)i;
    if (strncmp(error, "TRYAGAIN", 8) == 0)
        return REDIS_CLUSTER;
    /* AUTH of a server that has a password and no users. */
    if (strncmp(error, "ERR invalid password", 20) == 0)
        return REDIS_WRONGPASS;
    if (strncmp(error, "ERR unknown command", 19) == 0)
        return REDIS_TOO_OLD;
    return REDIS_FINE;
}

const struct redis_trouble_info *redis_trouble_info(enum redis_trouble trouble)
{
    return &table[(unsigned)trouble < REDIS_TROUBLE_NR ? trouble : REDIS_AWAY];
}

bool redis_trouble_is_outage(enum redis_trouble trouble)
{
    return trouble != REDIS_FINE && trouble != REDIS_FULL;
}
