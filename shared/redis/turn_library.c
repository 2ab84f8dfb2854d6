/* SPDX-License-Identifier: MIT
 * turn_library.c - makes verbs run on a connection of turn.c: it loads the function library, and
 * keeps and logs what is wrong with Redis (turn_internal.h). */
#include "shared/redis/topology.h"
#include "shared/redis/turn_internal.h"

#include <hiredis/hiredis.h>
#include <stdio.h>

enum { ERROR_BYTES = 160 };

/* --- trouble -------------------------------------------------------------------------------- */

void turn_say_trouble(struct turn *turn, const char *text, const char *error)
{
    uint64_t times;
    if (!log_limit_passes(&turn->limit, text, &times))
        return;
    turn->is_trouble_said = true;
    log_write(LOG_WARN, text, LOG_S("error", error), LOG_U("times", times));
}

/* An outage may end in a Redis that is merely full, where what on_up asks for runs. */
static void change_trouble(struct turn *turn, enum redis_trouble to)
{
    bool was_outage = redis_trouble_is_outage(turn->trouble);
    turn->trouble = to;
    if (was_outage && !redis_trouble_is_outage(to))
        turn->config.on_up(turn->config.arg);
}

void turn_set_trouble(struct turn *turn, enum redis_trouble trouble, const char *error)
{
    turn_say_trouble(turn, redis_trouble_info(trouble)->text, error);
    change_trouble(turn, trouble);
}

void turn_end_trouble(struct turn *turn)
{
    if (turn->is_trouble_said)
        log_write(LOG_INFO, "redis accepts everything again");
    turn->is_trouble_said = false;
    change_trouble(turn, REDIS_FINE);
}

/* --- the library ---------------------------------------------------------------------------- */

/* Without the right to write, or without room, it may be there all the same: a call will show. One
 * that was sent already has shown that it is not. False when the connection is no good. */
static bool is_up_without_load(struct turn *turn, const char *error)
{
    enum redis_trouble trouble = redis_trouble_of(error);
    const struct redis_trouble_info *info = redis_trouble_info(trouble);
    if (topology_is_elsewhere(turn->address, error)) {
        redis_conn_reset(turn->conn, error);
        return false;
    }
    if (trouble == REDIS_FINE || !info->is_kept) {
        turn_say_trouble(turn, "cannot load the function library (Redis 7 or Valkey 8 is required)",
                         error);
        redis_conn_reset(turn->conn, error);
        return false;
    }
    bool is_missing = turn->parked != NULL;
    turn_set_trouble(turn, trouble == REDIS_FULL && is_missing ? REDIS_NO_ROOM : trouble, error);
    turn_fail_parked(turn, info->error);
    return true;
}

static void on_loaded(void *arg, const redisReply *reply)
{
    struct turn *turn = arg;
    turn->is_loading = false;
    loop_cancel_deadline(turn->loop, &turn->load_late);
    if (reply == NULL)
        return;
    if (reply->type == REDIS_REPLY_ERROR && !redis_library_is_there(reply->str)) {
        char error[ERROR_BYTES];
        snprintf(error, sizeof error, "%s", reply->str);
        if (!is_up_without_load(turn, error))
            return;
    }
    bool was_up = turn->is_up;
    turn->is_up = true;
    while (turn->parked != NULL) {
        struct batch *batch = turn->parked;
        turn->parked = batch->next;
        turn_send_batch(turn, batch);
    }
    if (!was_up && !turn_hold_up(turn))
        turn->config.on_up(turn->config.arg);
    redis_conn_flush(turn->conn);
}

/* Without this a Redis that hangs now would never be given up: no batch is sent that could be late.
 */
static void on_load_late(struct deadline *deadline)
{
    struct turn *turn = container_of(deadline, struct turn, load_late);
    redis_conn_reset(turn->conn, "no answer in time");
}

void turn_load_library(struct turn *turn)
{
    struct str words[] = {STR("FUNCTION"), STR("LOAD"), buf_str(&turn->library)};
    if (turn->is_loading)
        return;
    if (redis_conn_command(turn->conn, on_loaded, turn, words, 3) != ERR_OK)
        return; /* lost again: on_connect comes back here */
    turn->is_loading = true;
    turn->load_late.on_expire = on_load_late;
    loop_set_deadline(turn->loop, &turn->load_late, TURN_ANSWER_MAX_MS);
    redis_conn_flush(turn->conn);
}
