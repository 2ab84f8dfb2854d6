/* SPDX-License-Identifier: MIT
 * agreement.c - see agreement.h. */
#include "shared/redis/agreement.h"

#include "shared/redis/sync.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

/* --- records ---------------------------------------------------------------------------------- */

static bool parse_number(struct str *text, unsigned *ret_number)
{
    uint64_t number;
    if (!str_parse_u64(str_cut(text, ' '), &number) || number > SHARDS_MAX)
        return false;
    *ret_number = (unsigned)number;
    return true;
}

bool agreement_parse(struct str text, struct agreement *ret_agreement)
{
    struct agreement a = {.is_whole = false};
    struct str id = str_cut(&text, ' ');
    if (id.n != CLUSTER_ID_BYTES || !parse_number(&text, &a.server) ||
        !parse_number(&text, &a.server_n) || !parse_number(&text, &a.shard_n))
        return false;
    memcpy(a.id, id.at, id.n);
    a.is_whole = str_eq(text, STR("whole"));
    if (!a.is_whole && !str_eq(text, STR("begun")))
        return false;
    *ret_agreement = a;
    return true;
}

struct str agreement_put(const struct agreement *a, char *text)
{
    int n = snprintf(text, AGREEMENT_TEXT_BYTES, "%s %u %u %u %s", a->id, a->server, a->server_n,
                     a->shard_n, a->is_whole ? "whole" : "begun");
    return (struct str){text, (size_t)n};
}

struct str agreement_key(const struct shard_map *map, char *key)
{
    int n = snprintf(key, AGREEMENT_KEY_BYTES, "%scluster", map->prefixes[0]);
    return (struct str){key, (size_t)n};
}

/* --- with the servers ------------------------------------------------------------------------- */

/* What one server said. */
enum answer { ANSWER_RECORD, ANSWER_NONE, ANSWER_AWAY };

struct asking {
    struct shard_map *map;
    struct sync *syncs[SHARDS_MAX];
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

static enum answer ask(struct asking *asking, unsigned server, const struct str *words, size_t n,
                       struct agreement *ret_record)
{
    struct sync_answer answer;
    if (sync_command(asking->syncs[server], words, n, 0, &answer) != ERR_OK)
        return ANSWER_AWAY;
    bool is_there = answer.n == 1 && answer.at[0].at != NULL;
    if (!is_there || !agreement_parse(answer.at[0], ret_record))
        return ANSWER_NONE;
    return ANSWER_RECORD;
}

static enum answer read_record(struct asking *asking, unsigned server, struct agreement *ret_record)
{
    char key[AGREEMENT_KEY_BYTES];
    struct str words[] = {STR("GET"), agreement_key(asking->map, key)};
    return ask(asking, server, words, 2, ret_record);
}

/* Writes `record` where there is none, and returns what is there then. */
static enum answer win(struct asking *asking, const struct agreement *record,
                       struct agreement *ret_record)
{
    char key[AGREEMENT_KEY_BYTES], text[AGREEMENT_TEXT_BYTES];
    struct str words[] = {STR("SET"), agreement_key(asking->map, key), agreement_put(record, text),
                          STR("NX"), STR("GET")};
    enum answer answer = ask(asking, record->server, words, 5, ret_record);
    if (answer != ANSWER_NONE)
        return answer;
    *ret_record = *record;
    return ANSWER_RECORD;
}

/* Of a cluster that was begun before numbers of shards were written down: it has one. */
static bool has_old_data(struct asking *asking)
{
    char meta[AGREEMENT_KEY_BYTES], record[AGREEMENT_KEY_BYTES];
    struct sync_answer answer;
    snprintf(meta, sizeof meta, "%smeta", asking->map->prefixes[0]);
    struct str words[] = {STR("EXISTS"), str_of(meta)};
    struct str look[] = {STR("EXISTS"), agreement_key(asking->map, record)};
    return sync_command(asking->syncs[0], look, 2, 0, &answer) == ERR_OK &&
           str_eq(answer.at[0], STR("0")) &&
           sync_command(asking->syncs[0], words, 2, 0, &answer) == ERR_OK &&
           str_eq(answer.at[0], STR("1"));
}

static void mark_whole(struct asking *asking, struct agreement *record)
{
    char key[AGREEMENT_KEY_BYTES], text[AGREEMENT_TEXT_BYTES];
    struct sync_answer answer;
    record->is_whole = true;
    struct str words[] = {STR("SET"), agreement_key(asking->map, key), agreement_put(record, text)};
    (void)!sync_command(asking->syncs[0], words, 3, 0, &answer); /* the next start does it, then */
}

/* Is `record` what server number `server` of the cluster `first` has to say? */
static enum agreed compare(struct asking *asking, const struct agreement *first,
                           const struct agreement *record, unsigned server)
{
    const struct shard_map *map = asking->map;
    if (record->server_n != map->server_n)
        return refuse(asking,
                      "--redis lists %u, but this cluster has %u: list all of them in "
                      "their order",
                      map->server_n, record->server_n);
    if (record->server != server)
        return refuse(asking,
                      "--redis lists the servers in another order than they were first: "
                      "number %u of the list was number %u",
                      server + 1, record->server + 1);
    if (strcmp(record->id, first->id) != 0)
        return refuse(asking, "number %u of --redis belongs to another cluster than the first one",
                      server + 1);
    return AGREED;
}

static enum agreed adopt(struct asking *asking, const struct agreement *first)
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
        return refuse(asking, "this cluster has %u shards, and --key-prefix %s", first->shard_n,
                      fault);
    return AGREED;
}

static enum agreed make_with_others(struct asking *asking, struct agreement *first, bool may_write)
{
    bool is_whole = true;
    for (unsigned i = 1; i < asking->map->server_n; i++) {
        struct agreement record = *first;
        record.server = i;
        enum answer answer = may_write && !first->is_whole ? win(asking, &record, &record)
                                                           : read_record(asking, i, &record);
        is_whole &= answer == ANSWER_RECORD;
        if (answer == ANSWER_AWAY && !first->is_whole)
            break; /* each only after the one before it */
        enum agreed agreed = answer == ANSWER_RECORD ? compare(asking, first, &record, i) : AGREED;
        if (agreed != AGREED)
            return agreed;
    }
    if (may_write && is_whole && !first->is_whole)
        mark_whole(asking, first);
    return AGREED;
}

static enum agreed make(struct asking *asking, bool may_write)
{
    struct shard_map *map = asking->map;
    struct agreement first = {.server_n = map->server_n, .shard_n = map->n};
    str_random_hex(CLUSTER_ID_BYTES / 2, first.id);
    if (map->n > 1 && has_old_data(asking))
        return refuse(asking,
                      "--shards is %u, but Redis holds a cluster of one shard: leave it out, or "
                      "restore a backup into an empty Redis with --shards",
                      map->n);
    enum answer answer = may_write ? win(asking, &first, &first) : read_record(asking, 0, &first);
    if (answer == ANSWER_AWAY &&
        may_write) /* it may refuse writes, being full, and have a record */
        answer = read_record(asking, 0, &first);
    if (answer == ANSWER_AWAY || (answer == ANSWER_NONE && may_write && map->server_n > 1)) {
        snprintf(asking->reason, asking->reason_size, "%s", sync_error(asking->syncs[0]));
        return AGREED_NOT_YET;
    }
    memcpy(map->id, first.id, sizeof map->id);
    if (answer == ANSWER_NONE)
        return AGREED; /* nothing was ever written here */
    enum agreed agreed = compare(asking, &first, &first, 0);
    if (agreed == AGREED)
        agreed = adopt(asking, &first);
    return agreed == AGREED ? make_with_others(asking, &first, may_write) : agreed;
}

enum agreed agreement_make(struct shard_map *map, bool may_write, char *reason, size_t reason_size)
{
    struct asking asking = {.map = map, .reason = reason, .reason_size = reason_size};
    for (unsigned i = 0; i < map->server_n; i++)
        asking.syncs[i] = sync_create(&(struct sync_config){.address = &map->servers[i],
                                                            .prefix = map->prefixes[i],
                                                            .name = "parley-start",
                                                            .patience_ms = 1,
                                                            .is_quiet = true});
    enum agreed agreed = make(&asking, may_write);
    atomic_store(&map->is_agreed, agreed == AGREED);
    for (unsigned i = 0; i < map->server_n; i++)
        sync_destroy(asking.syncs[i]);
    return agreed;
}
