/* SPDX-License-Identifier: MIT
 * durability.c - see durability.h. INFO has all but appendfsync, which is asked for with CONFIG
 * GET. */
#include "shared/redis/durability.h"

#include <hiredis/hiredis.h>
#include <stdatomic.h>

static const struct {
    enum durability_warning warning;
    const char *text;
} texts[] = {
    {DURABILITY_EVICTS,
     "Redis may evict keys, including questions and answers: set maxmemory-policy to noeviction."},
    {DURABILITY_NO_AOF, "Redis writes no append-only file, so a crash loses acknowledged data: set "
                        "appendonly to yes."},
    {DURABILITY_NO_FSYNC, "Redis lets the operating system decide when to write the append-only "
                          "file: set appendfsync to everysec or always."},
    {DURABILITY_UNCONFIRMED,
     "What is added or answered is refused with not_durable, because no copy of it is confirmed: "
     "check Redis's replicas, or with --durability disk its append-only file."},
    {DURABILITY_EMPTIED, "Redis came back without its data while this node was running: what was "
                         "stored before is lost."},
};
enum { TEXT_N = sizeof texts / sizeof texts[0] };

static atomic_uint said; /* by any connection of this process */

static void set_warnings(struct durability *durability, unsigned warnings)
{
    durability->warnings = warnings;
    unsigned news = warnings & ~atomic_fetch_or(&said, warnings);
    for (unsigned i = 0; i < TEXT_N; i++)
        if ((news & texts[i].warning) != 0)
            log_write(LOG_WARN, texts[i].text);
}

void durability_put(struct buf *b, unsigned warnings)
{
    for (unsigned i = 0; i < TEXT_N; i++)
        if ((warnings & texts[i].warning) != 0)
            buf_printf(b, " %s", texts[i].text);
}

/* The value of "<name>:<value>"; NULL if there is none. */
static struct str value_of(struct str info, struct str name)
{
    while (info.at != NULL) {
        struct str value = str_trim(str_cut(&info, '\n'));
        if (str_eq(str_cut(&value, ':'), name))
            return value;
    }
    return info;
}

unsigned durability_read_info(struct str info)
{
    struct str policy = value_of(info, STR("maxmemory_policy"));
    bool evicts = policy.at != NULL && !str_eq(policy, STR("noeviction"));
    bool has_no_aof = str_eq(value_of(info, STR("aof_enabled")), STR("0"));
    return (evicts ? DURABILITY_EVICTS : 0) | (has_no_aof ? DURABILITY_NO_AOF : 0);
}

static void set_history(struct durability *durability, struct str id, const char *error)
{
    uint64_t times;
    if (id.n > 0 && id.n < HISTORY_BYTES)
        memcpy(durability->history, id.at, id.n); /* the NULs are there */
    else if (durability->needs_history && log_limit_passes(&durability->limit, error, &times))
        log_write(LOG_WARN,
                  "--durability needs INFO replication, which this Redis refuses: nothing can be "
                  "acknowledged",
                  LOG_S("error", error), LOG_U("times", times));
}

static void on_info(void *arg, const redisReply *reply)
{
    struct durability *durability = arg;
    if (reply == NULL)
        return;
    bool is_text = reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS;
    struct str info = {is_text ? reply->str : NULL, is_text ? (size_t)reply->len : 0};
    if (is_text)
        set_warnings(durability, durability_read_info(info));
    set_history(durability, value_of(info, STR("master_replid")),
                reply->type == REDIS_REPLY_ERROR ? reply->str : "no master_replid");
}

static void on_fsync(void *arg, const redisReply *reply)
{
    struct durability *durability = arg;
    if (reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
        reply->element[1]->type == REDIS_REPLY_STRING &&
        strcmp(reply->element[1]->str, "no") == 0 &&
        (durability->warnings & DURABILITY_NO_AOF) == 0)
        set_warnings(durability, durability->warnings | DURABILITY_NO_FSYNC);
}

void durability_ask(struct redis_conn *conn, struct durability *durability)
{
    struct str info[] = {STR("INFO"), STR("memory"), STR("persistence"), STR("replication")};
    struct str fsync[] = {STR("CONFIG"), STR("GET"), STR("appendfsync")};
    durability->warnings = 0;
    durability->since_ms = clock_mono_ms();
    memset(durability->history, 0, sizeof durability->history);
    if (redis_conn_command(conn, on_info, durability, info, 4) == ERR_OK &&
        redis_conn_command(conn, on_fsync, durability, fsync, 3) == ERR_OK)
        redis_conn_flush(conn);
}
