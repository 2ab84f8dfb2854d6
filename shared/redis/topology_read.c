/* SPDX-License-Identifier: MIT
 * topology_read.c - see topology_internal.h. Nothing here trusts what it reads: a reply has any
 * type, any length and any numbers. */
#include "shared/redis/topology_internal.h"

#include "shared/base/mem.h"

#include <hiredis/hiredis.h>

enum { PORT_MAX = 65535, EPOCH_FIELDS_MAX = 256 };

bool topology_is_same(const struct topology_place *a, const struct topology_place *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}

void topology_map_fini(struct topology_map *map)
{
    free(map->places);
    memset(map, 0, sizeof *map);
}

unsigned topology_map_add(struct topology_map *map, const struct topology_place *place)
{
    for (unsigned i = 0; i < map->place_n; i++)
        if (topology_is_same(&map->places[i], place))
            return i;
    if (map->place_n == TOPOLOGY_PLACES_MAX)
        return TOPOLOGY_PLACES_MAX;
    map->places = mem_grow(map->places, map->place_n, sizeof *map->places);
    map->places[map->place_n] = *place;
    return map->place_n++;
}

static bool is_text(const redisReply *reply)
{
    return reply != NULL &&
           (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS);
}

static struct str text_of(const redisReply *reply)
{
    return (struct str){reply->str, (size_t)reply->len};
}

/* A host without NULs and white space, which would be no host. */
static bool read_host(struct str text, struct topology_place *place)
{
    if (text.n >= sizeof place->host)
        return false;
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.at[i] <= ' ')
            return false;
    memcpy(place->host, text.at, text.n);
    place->host[text.n] = 0;
    return true;
}

/* [host, port, id, ...] The host of a member that does not know its own is nil, "" or "?". */
static bool read_member(const redisReply *reply, const struct topology_place *from,
                        struct topology_place *ret_place)
{
    struct topology_place place = {.port = 0};
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2 ||
        reply->element[1]->type != REDIS_REPLY_INTEGER)
        return false;
    long long port = reply->element[1]->integer;
    const redisReply *host = reply->element[0];
    if (port <= 0 || port > PORT_MAX)
        return false;
    if (!is_text(host) && host->type != REDIS_REPLY_NIL)
        return false;
    bool is_unknown =
        host->type == REDIS_REPLY_NIL || host->len == 0 || str_eq(text_of(host), STR("?"));
    if (is_unknown)
        place = *from;
    else if (!read_host(text_of(host), &place))
        return false;
    place.port = (int)port;
    *ret_place = place;
    return true;
}

/* [first, last, master, replica, ...] */
static bool read_range(const redisReply *range, const struct topology_place *from,
                       struct topology_map *map)
{
    struct topology_place place;
    if (range->type != REDIS_REPLY_ARRAY || range->elements < 3 ||
        range->element[0]->type != REDIS_REPLY_INTEGER ||
        range->element[1]->type != REDIS_REPLY_INTEGER)
        return false;
    long long first = range->element[0]->integer, last = range->element[1]->integer;
    if (first < 0 || last >= REDIS_SLOT_N || first > last ||
        !read_member(range->element[2], from, &place))
        return false;
    unsigned at = topology_map_add(map, &place);
    if (at == TOPOLOGY_PLACES_MAX)
        return false;
    for (long long slot = first; slot <= last; slot++)
        map->owner[slot] = (uint16_t)(at + 1);
    return true;
}

bool topology_read_slots(const redisReply *reply, const struct topology_place *from,
                         struct topology_map *ret_map)
{
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY || reply->elements > REDIS_SLOT_N)
        return false;
    for (size_t i = 0; i < reply->elements; i++)
        if (!read_range(reply->element[i], from, ret_map))
            return false;
    return ret_map->place_n > 0;
}

bool topology_read_is_ok(const redisReply *reply)
{
    if (!is_text(reply))
        return false;
    struct str text = text_of(reply);
    while (text.at != NULL)
        if (str_eq(str_trim(str_cut(&text, '\n')), STR("cluster_state:ok")))
            return true;
    return false;
}

bool topology_read_master(const redisReply *reply, struct topology_place *ret_place)
{
    struct topology_place place = {.port = 0};
    uint64_t port;
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        !is_text(reply->element[0]) || !is_text(reply->element[1]) || reply->element[0]->len == 0 ||
        !read_host(text_of(reply->element[0]), &place) ||
        !str_parse_u64(text_of(reply->element[1]), &port) || port == 0 || port > PORT_MAX)
        return false;
    place.port = (int)port;
    *ret_place = place;
    return true;
}

uint64_t topology_read_epoch(const redisReply *reply)
{
    uint64_t epoch = 0;
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY || reply->elements > EPOCH_FIELDS_MAX)
        return 0;
    for (size_t i = 0; i + 1 < reply->elements; i += 2)
        if (is_text(reply->element[i]) && is_text(reply->element[i + 1]) &&
            str_eq(text_of(reply->element[i]), STR("config-epoch")) &&
            !str_parse_u64(text_of(reply->element[i + 1]), &epoch))
            return 0;
    return epoch;
}

bool topology_read_moved(const char *error, const struct topology_place *from, unsigned *ret_slot,
                         struct topology_place *ret_place)
{
    struct topology_place place = {.port = 0};
    struct str text = str_of(error), word = str_cut(&text, ' '), slot = str_cut(&text, ' ');
    uint64_t number;
    if (!str_eq(word, STR("MOVED")) || !str_parse_u64(slot, &number) || number >= REDIS_SLOT_N)
        return false;
    text = str_cut(&text, ' ');
    if (text.n > 0 && text.at[0] == ':' && memchr(text.at + 1, ':', text.n - 1) == NULL) {
        /* a member that does not know its own host */
        uint64_t port;
        if (!str_parse_u64((struct str){text.at + 1, text.n - 1}, &port) || port == 0 ||
            port > PORT_MAX)
            return false;
        place = *from;
        place.port = (int)port;
    } else if (!redis_parse_endpoint(text, 0, place.host, &place.port) || place.port == 0) {
        return false;
    }
    if (str_eq(str_of(place.host), STR("?"))) {
        memcpy(place.host, from->host, sizeof place.host);
        memcpy(place.name, from->name, sizeof place.name);
    }
    *ret_slot = (unsigned)number;
    *ret_place = place;
    return place.host[0] != 0;
}
