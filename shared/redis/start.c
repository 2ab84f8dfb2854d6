/* SPDX-License-Identifier: MIT
 * start.c - see start.h. */
#include "shared/redis/start.h"

#include "generated/verbs.h"
#include "shared/base/clock.h"
#include "shared/base/trust.h"
#include "shared/redis/agreement.h"
#include "shared/redis/tls.h"
#include "shared/redis/topology.h"
#include "shared/redis/trouble.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { REASON_BYTES = 800, CHANNEL_BYTES = 128, KEY_BYTES = 128, AGREE_EVERY_MS = 500 };

const struct config_group redis_options = {
    "Redis",
    (const struct config_option[]){
        OPTION_TEXT(
            "redis", "URL", "redis://127.0.0.1:6379/0",
            "Redis 7 or Valkey 8: redis://[user:@]host:port[/db] or unix:/path[?db=N]. "
            "redis+sentinel://[user:@]host:port,host:port/name[/db] lists Sentinels and "
            "follows their master of that name. "
            "redis+cluster://[user:@]host:port,host:port lists members of one Redis Cluster. "
            "rediss instead of redis, as in rediss://host:port, is TLS. "
            "A password in the URL (user:password@) is visible in ps: use "
            "--redis-password-file instead."),
        OPTION_TEXT(
            "redis-password-file", "FILE", NULL,
            "A file that contains the Redis password. The user, if any, is part of --redis."),
        OPTION_TEXT("sentinel-user", "NAME", NULL,
                    "The ACL user of the Sentinels themselves, if they have one."),
        OPTION_TEXT(
            "sentinel-password-file", "FILE", NULL,
            "A file that contains the password of the Sentinels themselves, if they require "
            "one. The password of Redis is a different setting."),
        OPTION_TEXT("redis-tls-cert", "FILE", NULL,
                    "This process's certificate (PEM), and those that lead to its authority, for a "
                    "Redis over rediss:// that asks for one, as Redis does unless it has "
                    "tls-auth-clients no."),
        OPTION_TEXT("redis-tls-key", "FILE", NULL, "The private key (PEM) of --redis-tls-cert."),
        OPTION_TEXT(
            "key-prefix", "TEXT", "parley:{0}:",
            "Prefix of all keys and channels in Redis, at most 64 bytes; the same for all nodes "
            "and tools of a cluster. Change it when clusters share a Redis. A part in braces "
            "keeps the keys of one shard in one slot; without one, each shard gets its own."),
        OPTION_NUMBER(
            "shards", "N", NULL, 1, SHARDS_MAX,
            "Number of shards of the queue: a power of two up to 64. It is fixed when a "
            "cluster first starts (1 without this flag). Later starts use the stored number "
            "and refuse a different one."),
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

/* Sentinels have a login of their own. */
static bool open_topology(const struct config *config, struct redis_address *server)
{
    const char *file = config_text(config, "sentinel-password-file");
    char *password = file == NULL ? NULL : config_read_secret(file);
    if (file != NULL && password == NULL)
        return false;
    topology_open(server, config_text(config, "sentinel-user"), password);
    free(password);
    return true;
}

/* Before threads start. */
static bool init_tls(const struct config *config, const struct redis_address *server)
{
    char reason[REASON_BYTES];
    const char *flag, *cert = config_text(config, "redis-tls-cert"),
                      *key = config_text(config, "redis-tls-key");
    if (server->is_tls)
        return redis_tls_init(trust_file(), cert, key, &flag, reason, sizeof reason) ||
               config_wrong(flag, reason);
    return (cert == NULL && key == NULL) ||
           config_wrong(cert != NULL ? "redis-tls-cert" : "redis-tls-key",
                        "is for Redis over TLS, and --redis has no rediss:// URL");
}

static bool read_server(const struct config *config, struct redis_address *server)
{
    char reason[REASON_BYTES];
    const char *file = config_text(config, "redis-password-file");
    if (!redis_parse_url(str_of(config_text(config, "redis")), server, reason, sizeof reason))
        return config_wrong("redis", reason);
    return (file == NULL || read_password(file, server)) && init_tls(config, server) &&
           open_topology(config, server);
}

bool redis_read_options(const struct config *config, struct shard_map *ret_map)
{
    const char *fault;
    unsigned n = (unsigned)config_number(config, "shards");
    if (!read_server(config, &ret_map->servers[0]))
        return false;
    ret_map->server_n = 1;
    ret_map->is_cluster = ret_map->servers[0].kind == REDIS_OF_CLUSTER;
    ret_map->is_n_given = n > 0;
    if (n == 0)
        n = 1;
    if (shard_map_name(ret_map, str_of(config_text(config, "key-prefix")), n, &fault))
        return true;
    return config_wrong((n & (n - 1)) != 0 ? "shards" : "key-prefix", fault);
}

/* Any verb that changes nothing, then the channel that every node listens to. What went wrong,
 * blocking_error says. */
static enum err try_all(struct blocking *blocking, const char *prefix)
{
    char channel[CHANNEL_BYTES];
    struct blocking_call call = {.blocking = blocking};
    struct blocking_answer answer;
    snprintf(channel, sizeof channel, "%sall", prefix);
    struct str subscribe[] = {STR("SUBSCRIBE"), str_of(channel)};
    call_vectors(blocking_start(&call));
    return call.error == ERR_OK ? blocking_command(blocking, subscribe, 2, 0, &answer) : call.error;
}

/* A restore that was cut short leaves its mark, too: who worked with half of the data would not see
 * that the other half is missing. */
static enum err find_restore_mark(struct blocking *blocking, const char *prefix, bool *ret_is_there)
{
    char key[KEY_BYTES];
    struct blocking_answer answer;
    snprintf(key, sizeof key, "%srestoring", prefix);
    struct str exists[] = {STR("EXISTS"), str_of(key)};
    enum err error = blocking_command(blocking, exists, 2, 0, &answer);
    *ret_is_there = error == ERR_OK && answer.n == 1 && str_eq(answer.at[0], STR("1"));
    return error;
}

static bool check(const struct redis_address *address, const char *prefix, bool is_reading)
{
    struct blocking *blocking = blocking_create(&(struct blocking_config){.address = address,
                                                                          .prefix = prefix,
                                                                          .name = "parley-start",
                                                                          .patience_ms = 1,
                                                                          .is_quiet = true});
    signal(SIGPIPE, SIG_IGN);
    enum redis_trouble trouble = REDIS_FINE;
    bool is_restoring = false;
    enum err error = find_restore_mark(blocking, prefix, &is_restoring);
    if (error == ERR_OK && !is_restoring && !is_reading)
        error = try_all(blocking, prefix);
    if (error != ERR_OK)
        trouble = redis_trouble_of(blocking_error(blocking));
    bool is_wrong_kind = trouble == REDIS_MOVED && address->topology == NULL;
    bool is_good = trouble < REDIS_WRONGPASS && !is_restoring && !is_wrong_kind;
    if (is_restoring)
        fprintf(
            stderr,
            "parley: a restore into this Redis is incomplete (key %srestoring exists): wait until "
            "it ends; if it was interrupted, empty this Redis (FLUSHDB) and restore again\n",
            prefix);
    else if (!is_good)
        fprintf(stderr, "parley: %s Redis says: %s\n", redis_trouble_info(trouble)->text,
                blocking_error(blocking));
    blocking_destroy(blocking);
    return is_good;
}

static bool check_servers(struct shard_map *map, bool is_reading)
{
    for (unsigned i = 0; i < map->server_n; i++)
        if (!check(&map->servers[i], map->prefixes[i], is_reading))
            return false;
    return true;
}

static bool check_all(struct shard_map *map, bool is_reading)
{
    char reason[REASON_BYTES];
    if (!check_servers(map, is_reading))
        return false;
    if (agreement_make(map, !is_reading, reason, sizeof reason) != AGREED_REFUSED)
        return true;
    fprintf(stderr, "parley: %s\n", reason);
    return false;
}

bool redis_check_servers(struct shard_map *map)
{
    return check_servers(map, false);
}

bool redis_check_login(struct shard_map *map)
{
    return check_all(map, true);
}

bool redis_check_start(struct shard_map *map)
{
    return check_all(map, false);
}

/* --- durability --------------------------------------------------------------------------------
 */

static const char *disk_fault(const char *error)
{
    if (redis_trouble_of(error) == REDIS_TOO_OLD)
        return "disk requires Redis 7.2 or Valkey 8: this server has no WAITAOF";
    if (strstr(error, "appendonly") != NULL)
        return "disk requires an append-only file: set appendonly to yes in Redis";
    return NULL;
}

bool redis_check_durable(const struct shard_map *map, enum durable durable)
{
    struct str words[] = {STR("WAITAOF"), STR("1"), STR("0"), STR("1")};
    bool is_good = true;
    for (unsigned i = 0; durable == DURABLE_DISK && is_good && i < map->server_n; i++) {
        struct blocking_answer answer;
        struct blocking *blocking =
            blocking_create(&(struct blocking_config){.address = &map->servers[i],
                                                      .prefix = map->prefixes[i],
                                                      .name = "parley-start",
                                                      .patience_ms = 1,
                                                      .is_quiet = true});
        if (blocking_command(blocking, words, 4, 1, &answer) != ERR_OK) {
            const char *fault = disk_fault(blocking_error(blocking));
            is_good = fault == NULL || config_wrong("durability", fault);
        }
        blocking_destroy(blocking);
    }
    return is_good;
}

/* --- signals -------------------------------------------------------------------------------- */

static struct blocking *to_stop[SHARDS_MAX]; /* what the signal handler reaches */
static unsigned to_stop_n;
static volatile sig_atomic_t is_interrupted;

static void on_signal(int number)
{
    int saved = errno;
    (void)number;
    is_interrupted = 1;
    for (unsigned i = 0; i < to_stop_n; i++)
        blocking_stop(to_stop[i]);
    errno = saved;
}

static void stop_on_signals(struct blocking *const *connections, unsigned n)
{
    struct sigaction action = {.sa_handler = on_signal};
    for (unsigned i = 0; i < n; i++)
        to_stop[i] = connections[i];
    to_stop_n = n;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void redis_stop_on_signals(struct blocking *blocking)
{
    stop_on_signals(&blocking, 1);
}

void redis_note_signals(void)
{
    stop_on_signals(NULL, 0);
}

void redis_connect_all(const struct shard_map *map, const char *name, uint64_t patience_ms,
                       struct blocking **ret_connections)
{
    for (unsigned i = 0; i < map->server_n; i++)
        ret_connections[i] =
            blocking_create(&(struct blocking_config){.address = &map->servers[i],
                                                      .prefix = map->prefixes[i],
                                                      .name = name,
                                                      .patience_ms = patience_ms,
                                                      .map = map->is_agreed ? map : NULL,
                                                      .server = i});
    stop_on_signals(ret_connections, map->server_n);
}

void redis_disconnect_all(const struct shard_map *map, struct blocking **connections)
{
    for (unsigned i = 0; i < map->server_n; i++)
        blocking_destroy(connections[i]);
}

bool redis_await_agreement(struct shard_map *map, bool may_write, uint64_t patience_ms)
{
    char reason[REASON_BYTES];
    const struct timespec pause = {.tv_nsec = AGREE_EVERY_MS * 1000000};
    enum agreed agreed = map->is_agreed ? AGREED : AGREED_NOT_YET;
    bool is_said = false;
    uint64_t end_ms = clock_mono_ms() + patience_ms;
    while (agreed == AGREED_NOT_YET) {
        agreed = agreement_make(map, may_write, reason, sizeof reason);
        if (agreed == AGREED_NOT_YET && patience_ms >= 1000 && !is_said) {
            fprintf(stderr, "parley: %s (waiting for %llu s)\n", reason,
                    (unsigned long long)patience_ms / 1000);
            is_said = true;
        }
        if (agreed == AGREED_NOT_YET &&
            (is_interrupted || clock_mono_ms() >= end_ms || nanosleep(&pause, NULL) != 0))
            break;
    }
    if (agreed != AGREED)
        fprintf(stderr, "parley: %s\n", is_interrupted ? "interrupted" : reason);
    return agreed == AGREED;
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
