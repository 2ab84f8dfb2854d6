/* SPDX-License-Identifier: MIT
 * start.c - see start.h. */
#include "shared/redis/start.h"

#include "generated/verbs.h"
#include "shared/redis/trouble.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { REASON_BYTES = 256, CHANNEL_BYTES = 128, KEY_BYTES = 128 };

const struct config_group redis_options = {
    "Redis",
    (const struct config_option[]){
        {.name = "redis",
         .kind = CONFIG_TEXT,
         .metavar = "URL",
         .fallback = "redis://127.0.0.1:6379/0",
         .help = "Redis 7 or Valkey 8: redis://[user:@]host:port[/db] or unix:/path[?db=N]. A "
                 "password in it (user:password@) shows in ps: use --redis-password-file."},
        {.name = "redis-password-file",
         .kind = CONFIG_TEXT,
         .metavar = "FILE",
         .help = "The file that holds the password of Redis; the user, if there is one, is in "
                 "--redis."},
        {.name = "key-prefix",
         .kind = CONFIG_TEXT,
         .metavar = "TEXT",
         .fallback = "parley:{0}:",
         .help = "What keys and channels in Redis begin with, at most 64 bytes: the same for all "
                 "nodes and tools of a cluster. The part in braces keeps them in one slot."},
        {0}}};

static bool read_password(const char *file, struct redis_address *address)
{
    char reason[REASON_BYTES];
    char *password = config_read_secret(file);
    if (password == NULL)
        return false;
    bool is_good = redis_set_password(address, str_of(password), reason, sizeof reason) ||
                   config_wrong("redis-password-file", reason);
    free(password);
    return is_good;
}

bool redis_read_options(const struct config *config, struct shard_map *ret_map)
{
    char reason[REASON_BYTES];
    const char *file = config_text(config, "redis-password-file"), *fault;
    struct redis_address *server = &ret_map->servers[0];
    ret_map->server_n = 1;
    if (!redis_parse_url(str_of(config_text(config, "redis")), server, reason, sizeof reason))
        return config_wrong("redis", reason);
    if (!shard_map_name(ret_map, str_of(config_text(config, "key-prefix")), 1, &fault))
        return config_wrong("key-prefix", fault);
    return file == NULL || read_password(file, server);
}

/* Any verb that changes nothing, then the channel that every node listens to. What went wrong,
 * sync_error says. */
static enum err try_all(struct sync *sync, const char *prefix)
{
    char channel[CHANNEL_BYTES];
    struct sync_call call = {.sync = sync};
    struct sync_answer answer;
    snprintf(channel, sizeof channel, "%sall", prefix);
    struct str subscribe[] = {STR("SUBSCRIBE"), str_of(channel)};
    call_vectors(sync_start(&call));
    return call.error == ERR_OK ? sync_command(sync, subscribe, 2, 0, &answer) : call.error;
}

/* A restore that was cut short leaves its mark, too: who worked with half of the data would not see
 * that the other half is missing. */
static enum err look_for_restore(struct sync *sync, const char *prefix, bool *ret_is_there)
{
    char key[KEY_BYTES];
    struct sync_answer answer;
    snprintf(key, sizeof key, "%srestoring", prefix);
    struct str exists[] = {STR("EXISTS"), str_of(key)};
    enum err error = sync_command(sync, exists, 2, 0, &answer);
    *ret_is_there = error == ERR_OK && answer.n == 1 && str_eq(answer.at[0], STR("1"));
    return error;
}

static bool check(const struct redis_address *address, const char *prefix, bool is_reading)
{
    struct sync *sync = sync_create(&(struct sync_config){.address = address,
                                                          .prefix = prefix,
                                                          .name = "parley-start",
                                                          .patience_ms = 1,
                                                          .is_quiet = true});
    signal(SIGPIPE, SIG_IGN);
    enum redis_trouble trouble = REDIS_FINE;
    bool is_restoring = false;
    enum err error = look_for_restore(sync, prefix, &is_restoring);
    if (error == ERR_OK && !is_restoring && !is_reading)
        error = try_all(sync, prefix);
    if (error != ERR_OK)
        trouble = redis_trouble_of(sync_error(sync));
    bool is_good = trouble < REDIS_WRONGPASS && !is_restoring;
    if (is_restoring)
        fprintf(stderr,
                "parley: a restore into this Redis has begun and not ended (%srestoring is there): "
                "wait until it has; if it was cut short, empty this Redis (FLUSHDB) and restore "
                "once more\n",
                prefix);
    else if (!is_good)
        fprintf(stderr, "parley: %s Redis says: %s\n", redis_trouble_info(trouble)->text,
                sync_error(sync));
    sync_destroy(sync);
    return is_good;
}

bool redis_check_login(const struct shard_map *map)
{
    return check(shard_server(map, 0), map->prefixes[0], true);
}

bool redis_check_start(const struct shard_map *map)
{
    return check(shard_server(map, 0), map->prefixes[0], false);
}

/* --- signals -------------------------------------------------------------------------------- */

static struct sync *to_stop; /* what the signal handler reaches */
static volatile sig_atomic_t is_interrupted;

static void on_signal(int number)
{
    int saved = errno;
    (void)number;
    is_interrupted = 1;
    sync_stop(to_stop);
    errno = saved;
}

void redis_stop_on_signals(struct sync *sync)
{
    struct sigaction action = {.sa_handler = on_signal};
    to_stop = sync;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool redis_is_interrupted(void)
{
    return is_interrupted;
}

void redis_ignore_signals(void)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
}
