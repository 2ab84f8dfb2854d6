/* SPDX-License-Identifier: MIT
 * trouble.c - see trouble.h. */
#include "shared/redis/trouble.h"

/* clang-format off */
static const struct redis_trouble_info table[REDIS_TROUBLE_NR] = {
    [REDIS_FINE] = {"fine", NULL, ERR_INTERNAL, "Redis works.", false, true},
    [REDIS_AWAY] = {"away", NULL, ERR_REDIS_LOST, "Not connected: check that Redis runs there, or correct --redis. Trying again.", true, false},
    [REDIS_FULL] = {"full", "OOM", ERR_STORE_FULL,
        "Redis is full (maxmemory reached), so nothing new is stored. Delete data you no longer need, or raise maxmemory.", true, true},
    [REDIS_NO_ROOM] = {"no_room", NULL, ERR_STORE_FULL,
        "Redis is full (maxmemory reached) and has no room for this version's function library, so nothing works. Raise maxmemory.", true, true},
    [REDIS_MISCONF] = {"misconf", "MISCONF", ERR_STORE_READONLY,
        "Redis refuses writes because its last snapshot or append-only write failed (MISCONF). Free disk space and check the Redis log.", true, true},
    [REDIS_READONLY] = {"readonly", "READONLY", ERR_STORE_READONLY,
        "Redis refuses writes because it is a read-only replica (READONLY). Set --redis to the primary, or to the Sentinels that know it.", true, true},
    [REDIS_NOREPLICAS] = {"noreplicas", "NOREPLICAS", ERR_STORE_READONLY,
        "Redis refuses writes because too few replicas are connected (NOREPLICAS, min-replicas-to-write). Check its replicas.", true, true},
    [REDIS_LOADING] = {"loading", "LOADING", ERR_STORE_BUSY,
        "Redis is loading its data into memory (LOADING): wait until it has finished.", true, false},
    [REDIS_BUSY] = {"busy", "BUSY ", ERR_STORE_BUSY,
        "Redis is busy with a long-running script (BUSY). If the script is not Parley's, stop it with SCRIPT KILL or FUNCTION KILL.", true, true},
    [REDIS_MASTERDOWN] = {"masterdown", "MASTERDOWN", ERR_STORE_BUSY,
        "Redis is a replica that has lost its primary (MASTERDOWN). Set --redis to the primary and check that it runs.", true, true},
    [REDIS_CLUSTER] = {"cluster", "CLUSTERDOWN", ERR_STORE_BUSY,
        "The Redis cluster is down (CLUSTERDOWN). Check its nodes.", true, true},
    [REDIS_MOVED] = {"moved", "MOVED", ERR_STORE_BUSY,
        "This server does not have the shard: its slot is on another one of its Redis Cluster (MOVED). Set --redis to redis+cluster://host:port,host:port.", true, true},
    [REDIS_ASK] = {"ask", "ASK ", ERR_STORE_BUSY,
        "The shard's slot is being moved to another server of the Redis Cluster (ASK): its work continues there once the move has finished.", true, true},
    [REDIS_UNKNOWN_PLACE] = {"unknown_place", "NOWHERE", ERR_REDIS_LOST,
        "Sentinel, or the members of the Redis Cluster, in --redis have not said yet which server to use.", true, false},
    [REDIS_EMPTIED] = {"emptied", "EMPTIED", ERR_STORE_BUSY,
        "It has lost its data (EMPTIED), so its shards are not used: restore the data, or see parley servers --help.", true, false},
    [REDIS_FOREIGN] = {"foreign", "FOREIGN", ERR_STORE_BUSY,
        "A Redis server in --redis now holds a different cluster than when this process started (FOREIGN): correct --redis and restart.", true, false},
    [REDIS_WRONGPASS] = {"wrongpass", "WRONGPASS", ERR_REDIS_LOST,
        "Redis refused the login (WRONGPASS): correct the user in --redis or the password in --redis-password-file.", false, false},
    [REDIS_NOAUTH] = {"noauth", "NOAUTH", ERR_REDIS_LOST,
        "Redis requires a password (NOAUTH): set --redis-password-file to a file that contains it.", false, false},
    [REDIS_NOPERM] = {"noperm", "NOPERM", ERR_REDIS_LOST,
        "The Redis user in --redis lacks permissions that Parley needs (NOPERM): grant it ~PREFIX*, &PREFIX* and the commands in docs/operations/secure.md.", false, false},
    [REDIS_TOO_OLD] = {"too_old", NULL, ERR_REDIS_LOST,
        "The server in --redis does not support functions: Redis 7 or Valkey 8 is required.", false, false},
    [REDIS_UNTRUSTED] = {"untrusted", "UNTRUSTED", ERR_REDIS_LOST,
        "The certificate of Redis is not accepted (UNTRUSTED): set --ca-file to its authority, and --redis to a host name that is in it.", false, false},
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
