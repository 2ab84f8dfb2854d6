/* SPDX-License-Identifier: MIT
 * agreement_former.c - see agreement_former.h. */
#include "shared/redis/agreement_former.h"

#include <stdio.h>

enum { TOKEN_KEY_BYTES = 64 };

/* The number that a command says of a key; 0 of one of another type. False when its server cannot
 * be asked. */
static bool ask_number(struct blocking *blocking, const char *command, const char *prefix,
                       const char *name, uint64_t *ret_n)
{
    char key[AGREEMENT_KEY_BYTES];
    struct blocking_answer answer;
    snprintf(key, sizeof key, "%s%s", prefix, name);
    struct str words[] = {str_of(command), str_of(key)};
    enum err error = blocking_command(blocking, words, 2, 0, &answer);
    if (error != ERR_OK || !str_parse_u64(answer.at[0], ret_n))
        *ret_n = 0;
    return error == ERR_OK || error == ERR_CONFLICT;
}

/* The first node stores a key for tokens, and whatever is stored changes `meta`. The record comes
 * before both. */
static bool has_cluster(struct blocking *blocking, const char *prefix, const char *record,
                        bool *ret_is_there)
{
    uint64_t field_n, key_n, record_n = 0;
    bool is_asked = ask_number(blocking, "HLEN", prefix, "meta", &field_n) &&
                    ask_number(blocking, "STRLEN", prefix, "token_key", &key_n) &&
                    (record == NULL || ask_number(blocking, "STRLEN", prefix, record, &record_n));
    *ret_is_there = is_asked && (field_n > 0 || key_n == TOKEN_KEY_BYTES || record_n > 0);
    return is_asked;
}

enum agreed agreement_look_for_former(struct shard_map *map, struct blocking *blocking,
                                      char *reason, size_t reason_size)
{
    bool is_untagged, is_tagged = false;
    if (shard_map_has_tag(map) || map->is_untagged || map->is_cluster)
        return AGREED; /* there were no former versions for a Redis Cluster */
    if (!has_cluster(blocking, map->base, NULL, &is_untagged) ||
        (is_untagged && !has_cluster(blocking, map->prefixes[0], "cluster", &is_tagged))) {
        snprintf(reason, reason_size, "%s", blocking_error(blocking));
        return AGREED_NOT_YET;
    }
    if (!is_untagged)
        return AGREED;
    if (is_tagged)
        snprintf(reason, reason_size,
                 "Redis holds two clusters: one whose keys begin with %s, as a former version "
                 "stored them, and one whose keys begin with %s: move one of them to another "
                 "Redis (parley backup, parley restore), or delete its keys",
                 map->base, map->prefixes[0]);
    else if (map->server_n > 1 || map->n > 1)
        snprintf(reason, reason_size,
                 "Redis holds a cluster of one shard whose keys begin with %s, as a former "
                 "version stored them: leave --shards out and list this server alone, or "
                 "restore a backup into an empty Redis with --shards",
                 map->base);
    else
        shard_map_untag(map);
    return map->is_untagged ? AGREED : AGREED_REFUSED;
}
