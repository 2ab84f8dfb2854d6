/* SPDX-License-Identifier: MIT
 * turn_history.c - which history of Redis's data the server of a connection has (turn_internal.h):
 * its replication id, which changes whenever another server becomes the master. Asked for with a
 * fence only. */
#include "shared/redis/turn_internal.h"

#include <hiredis/hiredis.h>

/* "master_replid:<40 hex digits>" */
static void on_history(void *arg, const redisReply *reply)
{
    struct turn *turn = arg;
    if (reply == NULL)
        return;
    struct str info = {NULL, 0};
    if (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS)
        info = (struct str){reply->str, (size_t)reply->len};
    while (info.at != NULL) {
        struct str line = str_trim(str_cut(&info, '\n')), value = line;
        if (str_eq(str_cut(&value, ':'), STR("master_replid")) && value.n < HISTORY_BYTES) {
            memcpy(turn->history, value.at, value.n);
            turn->history[value.n] = 0;
        }
    }
    if (turn->history[0] == 0)
        turn_say_trouble(turn,
                         "--durability needs INFO replication, which this Redis refuses: nothing "
                         "can be acknowledged",
                         reply->type == REDIS_REPLY_ERROR ? reply->str : "no master_replid");
}

void turn_ask_history(struct turn *turn)
{
    struct str words[] = {STR("INFO"), STR("replication")};
    turn->history[0] = 0;
    turn->since_ms = clock_mono_ms();
    if (redis_conn_command(turn->conn, on_history, turn, words, 2) == ERR_OK)
        redis_conn_flush(turn->conn);
}
