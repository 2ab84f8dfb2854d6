/* SPDX-License-Identifier: MIT
 * blocking_connect.c - the connection of a thread that waits, which is made and lost; see
 * blocking.h. */
#include "shared/base/clock.h"
#include "shared/redis/blocking_internal.h"
#include "shared/redis/topology.h"

#include <stdio.h>

enum {
    KNOWN_MAX_MS = 3000, /* until a topology says where to connect */
    WAIT_MAX_MS = 60000, /* of one turn of the loop */
};

void blocking_set_error(struct blocking *blocking, const char *text)
{
    if (text != blocking->error)
        snprintf(blocking->error, sizeof blocking->error, "%s", text);
}

const struct redis_address *blocking_place(const struct blocking *blocking)
{
    return blocking->conn == NULL ? blocking->config.address : redis_conn_place(blocking->conn);
}

void blocking_say(struct blocking *blocking, const char *message)
{
    uint64_t times;
    enum redis_trouble trouble = redis_trouble_of(blocking->error);
    if (blocking->config.is_quiet || !log_limit_passes(&blocking->limit, blocking->error, &times))
        return;
    blocking->is_said = true;
    if (trouble == REDIS_FINE)
        trouble = REDIS_AWAY;
    char place[REDIS_PLACE_BYTES];
    redis_put_place(blocking_place(blocking), place);
    log_write(LOG_WARN, message, LOG_S("connection", blocking->config.name), LOG_S("server", place),
              LOG_S("reason", blocking->error), LOG_S("advice", redis_trouble_info(trouble)->text),
              LOG_U("times", times));
}

/* --- events of the connection ----------------------------------------------------------------- */

static void on_id(void *arg, const redisReply *reply)
{
    struct blocking *blocking = arg;
    if (reply != NULL && reply->type == REDIS_REPLY_INTEGER)
        snprintf(blocking->client_id, sizeof blocking->client_id, "%s", reply->str);
    else if (reply != NULL && reply->type == REDIS_REPLY_ERROR)
        redis_conn_reset(blocking->conn, reply->str);
}

static void on_connect(void *arg)
{
    struct blocking *blocking = arg;
    struct str id[] = {STR("CLIENT"), STR("ID")};
    blocking->is_up = true;
    blocking->retry_ms = 0;
    blocking->connection_n++;
    (void)!redis_conn_command(blocking->conn, on_id, blocking, id, 2);
}

static void on_lost(void *arg)
{
    ((struct blocking *)arg)->is_up = false;
}

static void on_failed(void *arg, const char *reason, unsigned wait_ms)
{
    struct blocking *blocking = arg;
    blocking->retry_ms = clock_mono_ms() + wait_ms;
    blocking_set_error(blocking, reason);
    blocking_say(blocking,
                 blocking->connection_n == 0 ? "redis is not connected yet" : "redis lost");
}

/* --- connecting ------------------------------------------------------------------------------- */

bool blocking_is_over(const struct blocking *blocking, uint64_t at_ms)
{
    uint64_t patience_ms = blocking->config.patience_ms;
    return atomic_load(&blocking->is_stopping) ||
           (patience_ms > 0 && at_ms - blocking->since_ms > patience_ms);
}

static void create(struct blocking *blocking)
{
    const struct blocking_config *config = &blocking->config;
    struct redis_address place;
    char unknown[BLOCKING_ERROR_BYTES];
    /* Until somebody says where to go, or the first attempt fails for that reason. */
    (void)!topology_await(config->address, KNOWN_MAX_MS, &place, unknown, sizeof unknown);
    blocking->conn =
        redis_conn_create(&blocking->loop, &(struct redis_conn_config){.address = config->address,
                                                                       .name = config->name,
                                                                       .map = config->map,
                                                                       .shard = config->server,
                                                                       .on_connect = on_connect,
                                                                       .on_lost = on_lost,
                                                                       .on_failed = on_failed,
                                                                       .arg = blocking});
}

bool blocking_connect(struct blocking *blocking)
{
    if (blocking->conn == NULL && !atomic_load(&blocking->is_stopping))
        create(blocking);
    while (!blocking->is_up) {
        uint64_t try_ms = blocking->retry_ms != 0 ? blocking->retry_ms : blocking->since_ms;
        if (blocking_is_over(blocking, try_ms))
            return false;
        loop_run_once(&blocking->loop, WAIT_MAX_MS);
    }
    return true;
}
