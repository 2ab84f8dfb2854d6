/* SPDX-License-Identifier: MIT
 * bus.c - see bus.h.
 *
 * hiredis knows no sharded channels: a message of one that comes to a connection without other
 * subscriptions ends the process. But it finds the callback of any message by the channel's name
 * alone. So each channel is subscribed to in the ordinary way first, which costs nothing where
 * nothing is published on it, and then as a sharded one. When a channel's slot moves, its server
 * ends the subscription by itself (sunsubscribe): the connection is made again, and subscribes. */
#include "shared/redis/bus.h"

#include "shared/base/mem.h"

#include <hiredis/hiredis.h>
#include <stdio.h>

enum { CHANNEL_N = 2, REASON_BYTES = 160 };

struct bus {
    struct redis_conn *conn;
    struct bus_events events;
    char channels[CHANNEL_N][128];
    bool is_sharded;
    unsigned confirmed_n; /* subscriptions in force, of `wanted_n` */
    unsigned wanted_n;
};

bool bus_read_message(struct str message, void (*on_event)(void *arg, struct str event), void *arg)
{
    while (message.n > 0) {
        uint64_t n;
        struct str digits = str_cut(&message, ':');
        if (message.at == NULL || !str_parse_u64(digits, &n) || n > message.n)
            return false;
        on_event(arg, (struct str){message.at, (size_t)n});
        message.at += n;
        message.n -= (size_t)n;
    }
    return true;
}

static void on_message(void *arg, const redisReply *reply)
{
    struct bus *bus = arg;
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR) { /* it may not subscribe */
        char reason[REASON_BYTES];
        snprintf(reason, sizeof reason, "%s", reply->str);
        redis_conn_reset(bus->conn, reason);
        return;
    }
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY || reply->elements != 3 ||
        reply->element[0]->type != REDIS_REPLY_STRING)
        return;
    const char *kind = reply->element[0]->str;
    const redisReply *payload = reply->element[2];
    if (strcmp(kind, "subscribe") == 0 || strcmp(kind, "ssubscribe") == 0) {
        if (++bus->confirmed_n == bus->wanted_n)
            bus->events.on_up(bus->events.arg);
    } else if (strcmp(kind, "sunsubscribe") == 0) {
        redis_conn_reset(bus->conn, "its channels moved to another server");
    } else if (payload->type == REDIS_REPLY_STRING) {
        struct str message = {payload->str, (size_t)payload->len};
        if (!bus_read_message(message, bus->events.on_event, bus->events.arg))
            log_write(LOG_WARN, "malformed message on the bus", LOG_U("bytes", message.n));
    }
}

static void on_connect(void *arg)
{
    struct bus *bus = arg;
    bus->confirmed_n = 0;
    for (int i = 0; i < CHANNEL_N; i++) {
        struct str subscribe[] = {STR("SUBSCRIBE"), str_of(bus->channels[i])};
        if (redis_conn_command(bus->conn, on_message, bus, subscribe, 2) != ERR_OK)
            return; /* lost again: on_connect comes back here */
    }
    /* What it is answered with comes to on_message, by the channels' names. An error does, too,
     * with hiredis 1; with 0.14 it ends the connection. */
    struct str words[] = {STR("SSUBSCRIBE"), str_of(bus->channels[0]), str_of(bus->channels[1])};
    if (bus->is_sharded && redis_conn_command(bus->conn, on_message, bus, words, 3) != ERR_OK)
        return;
    redis_conn_flush(bus->conn);
}

static void on_lost(void *arg)
{
    struct bus *bus = arg;
    bus->confirmed_n = 0;
}

struct bus *bus_create(struct loop *loop, const struct redis_address *address, const char *prefix,
                       const char *node_id, bool is_sharded, struct bus_events events)
{
    struct bus *bus = mem_zeroed(sizeof *bus);
    bus->events = events;
    bus->is_sharded = is_sharded;
    bus->wanted_n = is_sharded ? 2 * CHANNEL_N : CHANNEL_N;
    snprintf(bus->channels[0], sizeof bus->channels[0], "%snode:%s", prefix, node_id);
    snprintf(bus->channels[1], sizeof bus->channels[1], "%sall", prefix);
    bus->conn = redis_conn_create(loop, &(struct redis_conn_config){.address = address,
                                                                    .name = "parley-bus",
                                                                    .on_connect = on_connect,
                                                                    .on_lost = on_lost,
                                                                    .arg = bus});
    return bus;
}

void bus_destroy(struct bus *bus)
{
    if (bus == NULL)
        return;
    redis_conn_destroy(bus->conn);
    free(bus);
}

void bus_check_place(struct bus *bus)
{
    redis_conn_check_place(bus->conn);
}

bool bus_is_up(const struct bus *bus)
{
    return bus->confirmed_n == bus->wanted_n;
}

enum redis_trouble bus_trouble(const struct bus *bus)
{
    return bus_is_up(bus) ? REDIS_FINE : redis_conn_trouble(bus->conn);
}
