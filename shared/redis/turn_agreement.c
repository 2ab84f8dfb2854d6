/* SPDX-License-Identifier: MIT
 * turn_agreement.c - is this still the server that the cluster agreed on (agreement_record.h)?
 * Looked at with each connection, before anything of the node reaches it.
 *
 * The only server of a cluster gets its record again when it has none: it has lost its data, as it
 * may, and all nodes agree on what it was. One of several does not: what it has lost, the others
 * refer to. */
#include "shared/redis/turn_internal.h"

#include "shared/redis/agreement_record.h"
#include "shared/redis/topology.h"

#include <hiredis/hiredis.h>
#include <stdatomic.h>

/* The shard moves, or has moved. While it moves (ASK) the record may be at its target already, and
 * no verb runs here: that is no reason to connect again. */
static bool is_elsewhere(const struct turn *turn, const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR && topology_is_passing(turn->address, reply->str) &&
           redis_trouble_of(reply->str) != REDIS_ASK;
}

static void on_record(void *arg, const redisReply *reply)
{
    struct turn *turn = arg;
    const struct shard_map *map = turn->config.map;
    const char *problem = NULL;
    if (reply == NULL)
        return;
    if (reply->type == REDIS_REPLY_STRING)
        problem = agreement_problem((struct str){reply->str, (size_t)reply->len}, map,
                                    turn->config.shard % map->server_n);
    if (reply->type == REDIS_REPLY_NIL && map->server_n == 1) {
        log_write(LOG_WARN,
                  "redis came back without its cluster record: what was stored in it is lost");
        turn->durability.has_lost_data = true;
    }
    if (is_elsewhere(turn, reply))
        redis_conn_reset(turn->conn, reply->str);
    else if (reply->type == REDIS_REPLY_NIL && map->server_n > 1)
        redis_conn_reset(turn->conn, AGREEMENT_EMPTIED);
    else if (reply->type == REDIS_REPLY_ERROR && map->server_n > 1)
        redis_conn_reset(turn->conn,
                         reply->str); /* such as LOADING: what it has is not known yet */
    else if (problem != NULL)
        redis_conn_reset(turn->conn, problem);
    else
        turn_load_library(turn); /* which says what is wrong where the record was refused */
}

void turn_check_server(struct turn *turn)
{
    const struct shard_map *map = turn->config.map;
    char key[AGREEMENT_KEY_BYTES], text[AGREEMENT_TEXT_BYTES];
    if (map == NULL) {
        turn_load_library(turn);
        return;
    }
    if (!atomic_load(&map->is_agreed)) {
        redis_conn_reset(turn->conn, "the number of shards is not known yet");
        return;
    }
    unsigned server = turn->config.shard % map->server_n;
    struct agreement record = {.data_version = DATA_VERSION,
                               .server = server,
                               .server_n = map->server_n,
                               .shard_n = map->n,
                               .is_whole = true};
    memcpy(record.id, map->id, sizeof record.id);
    struct str name = agreement_key(map, server, key);
    struct str get[] = {STR("GET"), name};
    struct str set[] = {STR("SET"), name, agreement_put(&record, text), STR("NX"), STR("GET")};
    bool may_write = map->server_n == 1;
    if (redis_conn_command(turn->conn, on_record, turn, may_write ? set : get, may_write ? 5 : 2) ==
        ERR_OK)
        redis_conn_flush(turn->conn); /* else lost again: on_connect comes back here */
}
