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

unsigned durability_read_info(struct str info)
{
    unsigned warnings = 0;
    while (info.at != NULL) {
        struct str line = str_trim(str_cut(&info, '\n')), value = line;
        struct str name = str_cut(&value, ':');
        if (str_eq(name, STR("maxmemory_policy")) && !str_eq(value, STR("noeviction")))
            warnings |= DURABILITY_EVICTS;
        else if (str_eq(name, STR("aof_enabled")) && str_eq(value, STR("0")))
            warnings |= DURABILITY_NO_AOF;
    }
    return warnings;
}

static void on_info(void *arg, const redisReply *reply)
{
    struct durability *durability = arg;
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
        return;
    if (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS)
        set_warnings(durability,
                     durability_read_info((struct str){reply->str, (size_t)reply->len}));
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
    struct str info[] = {STR("INFO"), STR("memory"), STR("persistence")};
    struct str fsync[] = {STR("CONFIG"), STR("GET"), STR("appendfsync")};
    durability->warnings = 0;
    if (redis_conn_command(conn, on_info, durability, info, 3) == ERR_OK &&
        redis_conn_command(conn, on_fsync, durability, fsync, 3) == ERR_OK)
        redis_conn_flush(conn);
}
