/* SPDX-License-Identifier: MIT
 * agreement_record.c - see agreement_record.h. */
#include "shared/redis/agreement_record.h"

#include <stdatomic.h>
#include <stdio.h>

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
    struct agreement a = {.data_version = data_version_parse(str_cut(&text, ' '))};
    struct str id = str_cut(&text, ' ');
    if (a.data_version != DATA_VERSION) {
        *ret_agreement = a;
        return true;
    }
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

struct agreement agreement_of(const struct shard_map *map, unsigned server)
{
    struct agreement a = {.data_version = DATA_VERSION,
                          .server = server,
                          .server_n = map->server_n,
                          .shard_n = map->n,
                          .is_whole = true};
    memcpy(a.id, map->id, sizeof a.id);
    return a;
}

struct str agreement_put(const struct agreement *a, char *text)
{
    int n = snprintf(text, AGREEMENT_TEXT_BYTES, "%u %s %u %u %u %s", a->data_version, a->id,
                     a->server, a->server_n, a->shard_n, a->is_whole ? "whole" : "begun");
    return (struct str){text, (size_t)n};
}

struct str agreement_key(const struct shard_map *map, unsigned server, char *key)
{
    int n = snprintf(key, AGREEMENT_KEY_BYTES, "%scluster",
                     map->prefixes[map->is_cluster ? server : 0]);
    return (struct str){key, (size_t)n};
}

bool agreement_is_key(const struct shard_map *map, struct str key)
{
    char record[AGREEMENT_KEY_BYTES];
    for (unsigned i = 0; i < (map->is_cluster ? map->server_n : 1); i++)
        if (str_eq(key, agreement_key(map, i, record)))
            return true;
    return false;
}

static bool is_of(const struct agreement *a, const struct shard_map *map, unsigned server)
{
    return a->server == server && a->server_n == map->server_n && a->shard_n == map->n &&
           (map->server_n == 1 || strcmp(a->id, map->id) == 0);
}

/* 0: none; else 1 more than the data version. */
static atomic_uint met;

const char *agreement_problem(struct str text, const struct shard_map *map, unsigned server)
{
    struct agreement record;
    if (!agreement_parse(text, &record))
        return "FOREIGN: its record is damaged";
    if (record.data_version != DATA_VERSION) {
        atomic_store(&met, record.data_version + 1);
        return "FOREIGN: its data has another data version";
    }
    return is_of(&record, map, server) ? NULL : "FOREIGN: its record belongs to another cluster";
}

bool agreement_has_met_other_data(unsigned *ret_data_version)
{
    unsigned seen = atomic_load(&met);
    *ret_data_version = seen == 0 ? 0 : seen - 1;
    return seen > 0;
}

const char *agreement_explain_data(char text[DATA_VERSION_TEXT_BYTES], unsigned data_version)
{
    return data_version_explain(text, "the data in Redis", data_version,
                                "use the Parley that stored it, or an empty Redis");
}
