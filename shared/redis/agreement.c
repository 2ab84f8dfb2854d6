/* SPDX-License-Identifier: MIT
 * agreement.c - see agreement.h. */
#include "shared/redis/agreement.h"

#include "shared/base/mem.h"
#include "shared/redis/blocking.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

enum { AWAY_MAX = 3 }; /* shards that are away, until the others are not asked */

struct asking {
    struct shard_map *map;
    struct blocking *connections[SHARDS_MAX];
    struct agreement_server servers[SHARDS_MAX]; /* what each of them said */
    char *reason;
    size_t reason_size;
};

__attribute__((format(printf, 2, 3))) static enum agreed refuse(struct asking *asking,
                                                                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(asking->reason, asking->reason_size, format, args);
    va_end(args);
    return AGREED_REFUSED;
}

static enum agreed wait_for(struct asking *asking, unsigned server)
{
    unsigned n = asking->map->server_n;
    if (n == 1)
        snprintf(asking->reason, asking->reason_size, "%s",
                 blocking_problem(asking->connections[0]));
    else
        snprintf(asking->reason, asking->reason_size, "%s %u of %u: %s",
                 asking->map->is_cluster ? "shard" : "server",
                 asking->map->is_cluster ? server : server + 1, n,
                 blocking_problem(asking->connections[server]));
    return AGREED_NOT_YET;
}

static enum agreement_answer ask(struct asking *asking, unsigned server, const struct str *words,
                                 size_t n)
{
    struct blocking_answer answer;
    struct agreement_server *to = &asking->servers[server];
    if (blocking_command(asking->connections[server], words, n, 0, &answer) != ERR_OK)
        return to->answer = AGREEMENT_AWAY;
    bool is_there = answer.n == 1 && answer.at[0].at != NULL;
    if (!is_there || !agreement_parse(answer.at[0], &to->record))
        return to->answer = AGREEMENT_NONE;
    return to->answer = AGREEMENT_RECORD;
}

static enum agreement_answer read_record(struct asking *asking, unsigned server)
{
    char key[AGREEMENT_KEY_BYTES];
    struct str words[] = {STR("GET"), agreement_key(asking->map, server, key)};
    return ask(asking, server, words, 2);
}

/* A server is written only after the one before it. So they are read from the last to the first:
 * one without a record before one that has it has lost it, even if another process writes
 * meanwhile. */
static void read_all(struct asking *asking)
{
    for (unsigned i = asking->map->server_n; i-- > 0;)
        (void)read_record(asking, i);
}

/* The first that has a record; `server_n` when none has. */
static unsigned first_known(const struct asking *asking)
{
    unsigned i = 0;
    while (i < asking->map->server_n && asking->servers[i].answer != AGREEMENT_RECORD)
        i++;
    return i;
}

/* Writes `record` where there is none. */
static enum agreement_answer win(struct asking *asking, const struct agreement *record)
{
    char key[AGREEMENT_KEY_BYTES], text[AGREEMENT_TEXT_BYTES];
    struct str words[] = {STR("SET"), agreement_key(asking->map, record->server, key),
                          agreement_put(record, text), STR("NX"), STR("GET")};
    struct agreement_server *to = &asking->servers[record->server];
    if (ask(asking, record->server, words, 5) == AGREEMENT_NONE)
        *to = (struct agreement_server){AGREEMENT_RECORD, *record};
    return to->answer;
}

/* Data without a record: nobody knows how many shards they were stored with. Without --shards they
 * are taken for one. */
static bool has_data(struct asking *asking, unsigned server)
{
    char meta[AGREEMENT_KEY_BYTES];
    struct blocking_answer answer;
    if (asking->map->is_cluster && server > 0)
        return false;
    snprintf(meta, sizeof meta, "%smeta", asking->map->prefixes[0]);
    struct str words[] = {STR("EXISTS"), str_of(meta)};
    return blocking_command(asking->connections[server], words, 2, 0, &answer) == ERR_OK &&
           str_eq(answer.at[0], STR("1"));
}

static bool mark_whole(struct asking *asking)
{
    char key[AGREEMENT_KEY_BYTES], text[AGREEMENT_TEXT_BYTES];
    struct blocking_answer answer;
    struct agreement record = asking->servers[0].record;
    record.is_whole = true;
    struct str words[] = {STR("SET"), agreement_key(asking->map, 0, key),
                          agreement_put(&record, text)};
    return blocking_command(asking->connections[0], words, 3, 0, &answer) == ERR_OK;
}

static enum agreed check_data_version(struct asking *asking, const struct agreement *record)
{
    char text[DATA_VERSION_TEXT_BYTES];
    if (record->data_version == DATA_VERSION)
        return AGREED;
    return refuse(asking, "%s", agreement_explain_data(text, record->data_version));
}

/* Is `record` what server number `server` of the cluster `first` has to say? */
static enum agreed compare(struct asking *asking, const struct agreement *first,
                           const struct agreement *record, unsigned server)
{
    const struct shard_map *map = asking->map;
    if (check_data_version(asking, record) != AGREED)
        return AGREED_REFUSED;
    if (map->is_cluster && record->server_n != record->shard_n)
        return refuse(asking,
                      "these data were stored on %u server(s) that were no Redis Cluster: "
                      "make a backup there and restore it into an empty Redis Cluster",
                      record->server_n);
    if (!map->is_cluster && record->server_n != map->server_n)
        return refuse(
            asking,
            "--redis lists %u, but this cluster has %u: list all of them in their original order",
            map->server_n, record->server_n);
    if (record->server != server)
        return refuse(asking,
                      "--redis lists the servers in a different order than before: number %u of "
                      "the list was number %u",
                      server + 1, record->server + 1);
    if (strcmp(record->id, first->id) != 0)
        return refuse(asking, "number %u of --redis belongs to a different cluster than number 1",
                      server + 1);
    return AGREED;
}

static enum agreed take_over(struct asking *asking, const struct agreement *first)
{
    struct shard_map *map = asking->map;
    const char *fault;
    if (first->shard_n == map->n)
        return AGREED;
    if (map->is_n_given)
        return refuse(asking,
                      "--shards is %u, but this cluster has %u: leave it out, or restore a "
                      "backup into an empty Redis with --shards",
                      map->n, first->shard_n);
    if (!shard_map_name(map, str_of(map->base), first->shard_n, &fault))
        return refuse(asking, "this cluster has %llu %s, and --key-prefix %s",
                      COUNTED(first->shard_n, "shard"), fault);
    return AGREED;
}

/* Writes what the others lack. Before all have theirs nothing is used, so nothing can be lost: they
 * are waited for. */
static enum agreed complete(struct asking *asking)
{
    const struct agreement *first = &asking->servers[0].record;
    for (unsigned i = 1; i < asking->map->server_n; i++) {
        struct agreement record = *first;
        record.server = i;
        if (win(asking, &record) == AGREEMENT_AWAY)
            return wait_for(asking, i);
        enum agreed agreed = compare(asking, first, &asking->servers[i].record, i);
        if (agreed != AGREED)
            return agreed;
    }
    /* An only server that is full and takes no writes is used all the same. */
    return mark_whole(asking) || asking->map->server_n == 1 ? AGREED : wait_for(asking, 0);
}

/* No server has a record. */
static enum agreed begin(struct asking *asking, bool may_write)
{
    struct shard_map *map = asking->map;
    struct agreement first = {
        .data_version = DATA_VERSION, .server_n = map->server_n, .shard_n = map->n};
    for (unsigned i = 0; i < map->server_n; i++) { /* one that is away may have one */
        if (asking->servers[i].answer == AGREEMENT_AWAY)
            return wait_for(asking, i);
        if (map->n > 1 && has_data(asking, i) && read_record(asking, i) == AGREEMENT_NONE)
            return refuse(asking,
                          "--shards is %u, but Redis holds a cluster of one shard: leave it out, "
                          "or restore a backup into an empty Redis with --shards",
                          map->n);
    }
    str_random_hex(CLUSTER_ID_BYTES / 2, first.id);
    memcpy(map->id, first.id, sizeof map->id);
    if (!may_write)
        return AGREED;                           /* nothing was ever written here */
    if (win(asking, &first) == AGREEMENT_AWAY) { /* it may refuse writes, being full */
        enum agreement_answer answer = read_record(asking, 0);
        if (answer == AGREEMENT_NONE && map->server_n == 1)
            return AGREED;
        if (answer != AGREEMENT_RECORD)
            return wait_for(asking, 0);
    }
    const struct agreement *record = &asking->servers[0].record; /* perhaps another start's */
    memcpy(map->id, record->id, sizeof map->id);
    enum agreed agreed = compare(asking, record, record, 0);
    if (agreed == AGREED)
        agreed = take_over(asking, record);
    return agreed == AGREED ? complete(asking) : agreed;
}

/* Do those that have a record agree, with each other and with `map`? */
static enum agreed compare_all(struct asking *asking, unsigned known)
{
    const struct agreement *record = &asking->servers[known].record;
    enum agreed agreed = AGREED;
    for (unsigned i = known; i < asking->map->server_n && agreed == AGREED; i++)
        if (asking->servers[i].answer == AGREEMENT_RECORD)
            agreed = compare(asking, record, &asking->servers[i].record, i);
    if (agreed == AGREED)
        agreed = take_over(asking, record);
    memcpy(asking->map->id, record->id, sizeof asking->map->id);
    return agreed;
}

static enum agreed make(struct asking *asking, bool may_write)
{
    read_all(asking);
    unsigned known = first_known(asking);
    if (known == asking->map->server_n)
        return begin(asking, may_write);
    enum agreed agreed = compare_all(asking, known);
    if (agreed == AGREED && known == 0 && may_write && !asking->servers[0].record.is_whole)
        return complete(asking);
    return agreed;
}

static enum agreed give_record(struct asking *asking, unsigned server)
{
    read_all(asking);
    unsigned known = first_known(asking), n = asking->map->server_n;
    if (server >= n)
        return refuse(asking, "--redis lists %llu %s: there is no server %u", COUNTED(n, "server"),
                      server + 1);
    if (known == n)
        return refuse(
            asking,
            "no server in --redis has a cluster record: start parley serve, which creates one");
    enum agreed agreed = compare_all(asking, known);
    if (agreed != AGREED)
        return agreed;
    if (asking->servers[server].answer == AGREEMENT_RECORD)
        return refuse(asking, "server %u still has its cluster record: there is nothing to do",
                      server + 1);
    if (asking->servers[server].answer == AGREEMENT_AWAY)
        return wait_for(asking, server);
    if (known == 0 && !asking->servers[0].record.is_whole)
        return refuse(
            asking,
            "the setup of this cluster is incomplete: start parley serve, which completes it");
    struct agreement record = asking->servers[known].record;
    record.server = server;
    record.is_whole = server == 0;
    return win(asking, &record) == AGREEMENT_AWAY ? wait_for(asking, server) : AGREED;
}

static struct blocking *open_one(const struct shard_map *map, unsigned server)
{
    return blocking_create(&(struct blocking_config){.address = &map->servers[server],
                                                     .prefix = map->prefixes[server],
                                                     .name = "parley-start",
                                                     .patience_ms = 1,
                                                     .is_quiet = true});
}

/* In a Redis Cluster it is the number of shards that says where records are. Without --shards it is
 * taken from the first record that is found; if nothing has one, `map` keeps its number. So a shard
 * 0 that has lost its record is not taken for a new cluster. */
static enum agreed learn_number(struct asking *asking)
{
    struct shard_map *map = asking->map, *wide;
    unsigned away_n = 0, n = 0;
    enum agreed agreed = AGREED;
    const char *fault;
    if (!map->is_cluster || map->is_n_given)
        return AGREED;
    wide = mem_alloc(sizeof *wide);
    *wide = *map;
    /* A prefix with a hash tag of its own has one shard. */
    unsigned to = shard_map_name(wide, str_of(map->base), SHARDS_MAX, &fault) ? SHARDS_MAX : 0;
    asking->map = wide;
    for (unsigned i = 0; i < to && agreed == AGREED && n == 0 && away_n < AWAY_MAX; i++) {
        asking->connections[i] = open_one(wide, i);
        if (read_record(asking, i) == AGREEMENT_RECORD) {
            agreed = check_data_version(asking, &asking->servers[i].record);
            n = asking->servers[i].record.shard_n;
        }
        if (asking->servers[i].answer == AGREEMENT_AWAY && away_n++ == 0)
            (void)wait_for(asking, i);
        blocking_destroy(asking->connections[i]);
    }
    asking->map = map;
    free(wide);
    if (agreed != AGREED || n == 0)
        return agreed != AGREED ? agreed : away_n > 0 ? AGREED_NOT_YET : AGREED;
    return shard_map_name(map, str_of(map->base), n, &fault)
               ? AGREED
               : refuse(asking, "this cluster has %llu %s, and --key-prefix %s",
                        COUNTED(n, "shard"), fault);
}

static enum agreed open_all(struct asking *asking)
{
    enum agreed agreed = learn_number(asking);
    struct shard_map *map = asking->map;
    memset(asking->connections, 0, sizeof asking->connections);
    for (unsigned i = 0; agreed == AGREED && i < map->server_n; i++)
        asking->connections[i] = open_one(map, i);
    return agreed;
}

static void close_all(struct asking *asking)
{
    for (unsigned i = 0; i < asking->map->server_n; i++)
        blocking_destroy(asking->connections[i]);
}

enum agreed agreement_make(struct shard_map *map, bool may_write, char *reason, size_t reason_size)
{
    struct asking asking = {.map = map, .reason = reason, .reason_size = reason_size};
    enum agreed agreed = open_all(&asking);
    if (agreed == AGREED)
        agreed = make(&asking, may_write);
    atomic_store(&map->is_agreed, agreed == AGREED);
    close_all(&asking);
    return agreed;
}

enum agreed agreement_rewrite(struct shard_map *map, unsigned server, char *reason,
                              size_t reason_size)
{
    struct asking asking = {.map = map, .reason = reason, .reason_size = reason_size};
    enum agreed agreed = open_all(&asking);
    if (agreed == AGREED)
        agreed = give_record(&asking, server);
    close_all(&asking);
    return agreed;
}

enum agreed agreement_read(struct shard_map *map, struct agreement_server *servers, char *reason,
                           size_t reason_size)
{
    struct asking asking = {.map = map, .reason = reason, .reason_size = reason_size};
    enum agreed agreed = open_all(&asking);
    if (agreed == AGREED) {
        read_all(&asking);
        unsigned known = first_known(&asking);
        unsigned away = 0;
        while (away < map->server_n && asking.servers[away].answer != AGREEMENT_AWAY)
            away++;
        if (known < map->server_n)
            agreed = compare_all(&asking, known);
        else
            agreed = away < map->server_n ? wait_for(&asking, away) : AGREED_NOT_YET;
        memcpy(servers, asking.servers, map->server_n * sizeof *servers);
    }
    close_all(&asking);
    return agreed;
}
