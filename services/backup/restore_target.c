/* SPDX-License-Identifier: MIT
 * restore_target.c - see restore.h: the servers that are filled.
 *
 *   how many shards? --> is another cluster there, or data? --> the cluster's record
 *     --> restore_begin on each shard ... --> are they the same servers still? --> the marks go
 *
 * Nothing is written before it is known that all servers are empty. The record is written as by a
 * first start (shared/redis/agreement.h). */
#include "services/backup/restore.h"

#include "shared/redis/agreement.h"
#include "shared/redis/start.h"

#include <stdatomic.h>
#include <stdio.h>

enum {
    /* Above what the cluster gave, from the backup's end to its own: a day of 10,000 a second. */
    LEASE_GAP = 1000000000,
    PATIENCE_MS = 30000,
};

/* Without --shards as many as the backup has. */
static bool choose_shards(struct restore *x)
{
    struct shard_map *map = &x->tool.map;
    const char *reason;
    unsigned n = map->is_n_given ? map->n : x->from_n;
    map->is_n_given = true; /* what is there must fit */
    return shard_map_name(map, str_of(map->base), n, &reason) ||
           tool_complain(&x->tool, "the backup has %llu %s, and --key-prefix %s",
                         COUNTED(x->from_n, "shard"), reason);
}

static bool visit_any(void *data, struct str key)
{
    struct restore *x = data;
    return agreement_is_key(&x->tool.map, key) ||
           tool_complain(&x->tool,
                         "Redis already holds data (%.*s): restore into a Redis without data under "
                         "this prefix, and start the nodes afterwards",
                         STR_ARG(key));
}

/* First without writing anything. */
static bool agree(struct restore *x)
{
    struct shard_map *map = &x->tool.map;
    if (!redis_await_agreement(map, false, PATIENCE_MS) ||
        !tool_each_of_prefix(&x->tool, visit_any, x))
        return false;
    atomic_store(&map->is_agreed, false);
    return redis_await_agreement(map, true, PATIENCE_MS);
}

static bool find_sets(struct restore *x)
{
    struct blocking_answer answer;
    struct str words[] = {STR("COMMAND"), STR("INFO"), STR("VADD")};
    enum err error = blocking_command(x->tool.blocking, words, 3, 0, &answer);
    x->has_sets[x->tool.shard] = error == ERR_OK && answer.n > 0 && answer.at[0].at != NULL;
    return error != ERR_REDIS_LOST || tool_complain_redis(&x->tool);
}

/* The line `run_id:` of INFO: another one after each start of the server, and of another server.
 * Empty where INFO is forbidden. */
static bool read_run_id(struct restore *x, char ret_id[RUN_ID_BYTES])
{
    struct blocking_answer answer;
    struct str words[] = {STR("INFO"), STR("server")}, line, rest = STR("");
    enum err error = blocking_command(x->tool.blocking, words, 2, 0, &answer);
    if (error == ERR_REDIS_LOST)
        return tool_complain_redis(&x->tool);
    ret_id[0] = 0;
    if (error == ERR_OK && answer.n == 1)
        rest = answer.at[0];
    while ((line = str_cut(&rest, '\n')).at != NULL) {
        struct str value = str_trim(line), name = str_cut(&value, ':');
        if (str_eq(name, STR("run_id")))
            snprintf(ret_id, RUN_ID_BYTES, "%.*s", STR_ARG(value));
    }
    return true;
}

static bool begin_shard(struct restore *x)
{
    struct blocking_call call = restore_call(x);
    bool had_begun = x->has_begun;
    x->has_begun = true; /* even when the reply is lost */
    call_restore_begin(blocking_start(&call), .lease = x->lease + LEASE_GAP,
                       .restore = str_of(x->id));
    if (!restore_has_reply(x, &call))
        return false;
    if (str_eq(call.reply, STR("ok")))
        return true;
    x->has_begun = had_begun;
    return tool_complain(&x->tool, "another restore into this Redis has just begun");
}

bool restore_begin(struct restore *x)
{
    /* In a Redis Cluster each shard has a connection. */
    bool is_good = choose_shards(x) && tool_connect(&x->tool) && agree(x);
    str_random_hex(8, x->id);
    for (unsigned i = 0; is_good && i < x->tool.map.server_n; i++) {
        tool_use(&x->tool, i);
        is_good = find_sets(x) && read_run_id(x, x->run_ids[i]);
    }
    for (unsigned i = 0; is_good && i < x->tool.map.n; i++) {
        tool_use(&x->tool, i);
        is_good = begin_shard(x);
    }
    return is_good;
}

/* A Redis that was started again in between, or was replaced by its replica, may have lost what
 * came before. */
static bool is_same_server(struct restore *x)
{
    char run_id[RUN_ID_BYTES];
    struct buf key;
    struct blocking_answer answer;
    if (!read_run_id(x, run_id))
        return false;
    struct str words[] = {STR("GET"), restore_put_key(&key, x, "restoring", STR(""))};
    enum err error = blocking_command(x->tool.blocking, words, 2, 0, &answer);
    buf_fini(&key);
    if (error != ERR_OK || answer.n != 1)
        return tool_complain_redis(&x->tool);
    return (strcmp(run_id, x->run_ids[x->tool.shard]) == 0 &&
            str_eq(answer.at[0], str_of(x->id))) ||
           tool_complain(&x->tool, "Redis was restarted or emptied during the restore: data "
                                   "restored before that may be lost");
}

bool restore_end(struct restore *x)
{
    bool is_one, is_good = true;
    for (unsigned i = 0; is_good && i < x->tool.map.server_n; i++) {
        tool_use(&x->tool, i);
        is_good = is_same_server(x);
    }
    /* The first ones last, which every start looks at. */
    for (unsigned i = x->tool.map.n; is_good && i-- > 0;) {
        tool_use(&x->tool, i);
        is_good = restore_ask_key(x, "UNLINK", "restoring", STR(""), &is_one);
    }
    return is_good;
}
