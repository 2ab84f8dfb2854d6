/* SPDX-License-Identifier: MIT
 * fuzz_topology.c - what a member of a Redis Cluster or a Sentinel replies: owners are places that
 * are there, and every place has a host and a port. */
#include "shared/redis/topology_internal.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at(const struct topology_place *place)
{
    if (memchr(place->host, 0, sizeof place->host) == NULL || place->host[0] == 0 ||
        place->port < 1 || place->port > 65535)
        abort();
}

static void read_reply(const redisReply *reply, const struct topology_place *from)
{
    static struct topology_map map;
    struct topology_place place;
    if (topology_read_slots(reply, from, &map))
        for (unsigned i = 0; i < map.place_n; i++)
            look_at(&map.places[i]);
    for (unsigned slot = 0; slot < REDIS_SLOT_N; slot++)
        if (map.owner[slot] > map.place_n)
            abort();
    topology_map_fini(&map);
    if (topology_read_master(reply, &place))
        look_at(&place);
    (void)topology_read_is_ok(reply);
    (void)topology_read_epoch(reply);
    unsigned slot;
    if (reply->type == REDIS_REPLY_ERROR && topology_read_moved(reply->str, from, &slot, &place)) {
        look_at(&place);
        if (slot >= REDIS_SLOT_N)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct topology_place from = {.host = "from", .port = 1};
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;
    if (reader == NULL)
        abort();
    if (redisReaderFeed(reader, (const char *)data, size) == REDIS_OK)
        while (redisReaderGetReply(reader, &reply) == REDIS_OK && reply != NULL) {
            read_reply(reply, &from);
            freeReplyObject(reply);
        }
    redisReaderFree(reader);
    return 0;
}
