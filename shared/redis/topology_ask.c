/* SPDX-License-Identifier: MIT
 * topology_ask.c - see topology_internal.h. */
#include "shared/redis/tls.h"
#include "shared/redis/topology_internal.h"

#include "shared/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
    ASK_MAX_MS = 1000,
    ASK_SLOW_MAX_MS = 250,
    QUESTION_N = 2,
    READ_BYTES = 16 << 10,
    REPLY_MAX_BYTES = 8 << 20, /* CLUSTER SLOTS of 16384 ranges of three members is about 5 MiB */
    RESOLVE_MAX_MS = 2000
};

static int limit_ms(const struct topology_asked *asked, unsigned i)
{
    return asked->is_slow[i] ? ASK_SLOW_MAX_MS : ASK_MAX_MS;
}

static const char *name_of(const struct topology_place *place)
{
    return place->name[0] != 0 ? place->name : place->host;
}

static redisContext *open_context(const struct topology_asked *asked, unsigned i)
{
    int ms = limit_ms(asked, i);
    struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    redisContext *c = redisConnectWithTimeout(asked->places[i].host, asked->places[i].port, limit);
    if (c == NULL)
        abort();
    if (c->err == 0) {
        (void)fcntl(c->fd, F_SETFD, FD_CLOEXEC);
        redisSetTimeout(c, limit);
    }
    if (c->err == 0 && asked->is_tls) {
        redis_tls_begin(c, name_of(&asked->places[i]));
        (void)redis_tls_shake(c);
    }
    return c;
}

static redisReply *fail(redisContext *c, const char *why)
{
    if (c->err == 0) {
        c->err = REDIS_ERR_OTHER;
        snprintf(c->errstr, sizeof c->errstr, "%s", why);
    }
    return NULL;
}

/* Reads without waiting; 0: nothing is there, -1: it is lost. */
static ssize_t read_now(redisContext *c, char *at, size_t size)
{
    if (redis_tls_is_begun(c))
        return redis_tls_read_now(c, at, size);
    ssize_t n = recv(c->fd, at, size, MSG_DONTWAIT);
    if (n > 0)
        return n;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    (void)fail(c, n == 0 ? "Server closed the connection" : strerror(errno));
    return -1;
}

/* hiredis bounds the time of each read only: one that sends a byte now and then, or never ends,
 * would keep all others from being asked. */
static redisReply *read_reply(redisContext *c, int ms)
{
    uint64_t end_ms = clock_mono_ms() + (uint64_t)ms;
    char bytes[READ_BYTES];
    void *reply = NULL;
    for (size_t read_n = 0; read_n < REPLY_MAX_BYTES;) {
        struct pollfd there = {.fd = c->fd, .events = POLLIN};
        if (redisReaderGetReply(c->reader, &reply) != REDIS_OK)
            return fail(c, c->reader->errstr);
        if (reply != NULL)
            return reply;
        /* Before it waits: with TLS, what the socket has brought may be read already. */
        ssize_t n = read_now(c, bytes, sizeof bytes);
        if (n < 0)
            return NULL;
        uint64_t now_ms = clock_mono_ms();
        if (n == 0 && (now_ms >= end_ms || poll(&there, 1, (int)(end_ms - now_ms)) == 0))
            return fail(c, "no whole reply in time");
        if (n > 0 && redisReaderFeed(c->reader, bytes, (size_t)n) != REDIS_OK)
            return fail(c, c->reader->errstr);
        read_n += (size_t)n;
    }
    return fail(c, "its reply is too long");
}

static redisReply *say(redisContext *c, int ms, const struct str *words, size_t n)
{
    const char *at[4];
    size_t length[4];
    int is_written = 0;
    for (size_t i = 0; i < n; i++) {
        at[i] = words[i].at;
        length[i] = words[i].n;
    }
    if (redisAppendCommandArgv(c, (int)n, at, length) != REDIS_OK)
        return NULL;
    while (!is_written)
        if (redisBufferWrite(c, &is_written) != REDIS_OK)
            return NULL;
    return read_reply(c, ms);
}

static bool log_in(const struct topology_asked *asked, redisContext *c, int ms, char *reason,
                   size_t reason_size)
{
    struct str words[3] = {STR("AUTH")};
    size_t n = 1;
    if (asked->password[0] == 0)
        return true;
    if (asked->user[0] != 0)
        words[n++] = str_of(asked->user);
    words[n++] = str_of(asked->password);
    redisReply *reply = say(c, ms, words, n);
    bool is_good = reply != NULL && reply->type != REDIS_REPLY_ERROR;
    if (!is_good)
        snprintf(reason, reason_size, "%s", reply == NULL ? c->errstr : reply->str);
    if (reply != NULL)
        freeReplyObject(reply);
    return is_good;
}

/* Names are looked up here, so that no loop has to. A name that cannot be found stays. */
static void resolve(struct topology_place *place)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    char host[sizeof place->host];
    if (getaddrinfo(place->host, NULL, &hints, &found) != 0)
        return;
    if (getnameinfo(found->ai_addr, found->ai_addrlen, host, sizeof host, NULL, 0,
                    NI_NUMERICHOST) == 0) {
        if (place->name[0] == 0)
            memcpy(place->name, place->host, sizeof place->name);
        memcpy(place->host, host, sizeof host);
    }
    freeaddrinfo(found);
}

/* The replies of one Sentinel or member to both questions, which the caller frees. */
static bool question(struct topology_asked *asked, unsigned i, redisReply **replies, char *reason,
                     size_t reason_size)
{
    const struct str sentinel[QUESTION_N][3] = {
        {STR("SENTINEL"), STR("GET-MASTER-ADDR-BY-NAME"), str_of(asked->master)},
        {STR("SENTINEL"), STR("MASTER"), str_of(asked->master)}};
    const struct str member[QUESTION_N][3] = {{STR("CLUSTER"), STR("SLOTS")},
                                              {STR("CLUSTER"), STR("INFO")}};
    bool is_sentinel = asked->kind == REDIS_SENTINEL;
    redisContext *c = open_context(asked, i);
    int ms = limit_ms(asked, i);
    bool is_good = c->err == 0;
    replies[0] = replies[1] = NULL;
    if (!is_good)
        snprintf(reason, reason_size, "%s", c->errstr);
    is_good = is_good && log_in(asked, c, ms, reason, reason_size);
    for (unsigned k = 0; is_good && k < QUESTION_N; k++) {
        replies[k] = say(c, ms, is_sentinel ? sentinel[k] : member[k], is_sentinel ? 3 : 2);
        is_good = replies[k] != NULL;
        if (!is_good)
            snprintf(reason, reason_size, "%s", c->errstr);
    }
    asked->is_slow[i] = !is_good;
    redisFree(c);
    return is_good;
}

static void drop(redisReply **replies)
{
    for (unsigned k = 0; k < QUESTION_N; k++)
        if (replies[k] != NULL)
            freeReplyObject(replies[k]);
}

static bool ask_sentinels(struct topology_asked *asked, struct topology_map *map, char *reason,
                          size_t reason_size)
{
    struct topology_place best, place;
    uint64_t best_epoch = 0;
    bool is_known = false;
    for (unsigned i = 0; i < asked->place_n; i++) {
        redisReply *replies[QUESTION_N];
        if (question(asked, i, replies, reason, reason_size)) {
            uint64_t epoch = topology_read_epoch(replies[1]);
            if (topology_read_master(replies[0], &place)) {
                if (!is_known || epoch > best_epoch) {
                    best = place;
                    best_epoch = epoch;
                }
                is_known = true;
            } else if (replies[0]->type == REDIS_REPLY_ERROR) {
                snprintf(reason, reason_size, "%s", replies[0]->str);
            } else {
                snprintf(reason, reason_size, "it knows no master of that name");
            }
        }
        drop(replies);
    }
    if (!is_known)
        return false;
    resolve(&best);
    return topology_map_add(map, &best) == 0;
}

static bool ask_members(struct topology_asked *asked, struct topology_map *map, char *reason,
                        size_t reason_size)
{
    bool is_ok = false;
    for (unsigned i = 0; i < asked->place_n && !is_ok; i++) {
        redisReply *replies[QUESTION_N];
        struct topology_map seen = {.place_n = 0};
        if (question(asked, i, replies, reason, reason_size)) {
            bool is_read = topology_read_slots(replies[0], &asked->places[i], &seen);
            is_ok = is_read && topology_read_is_ok(replies[1]);
            if (!is_read)
                snprintf(reason, reason_size, "%s",
                         replies[0]->type == REDIS_REPLY_ERROR ? replies[0]->str
                                                               : "no slot is assigned");
            if (is_ok || (is_read && map->place_n == 0)) {
                topology_map_fini(map);
                *map = seen;
                seen = (struct topology_map){.place_n = 0};
            }
        }
        topology_map_fini(&seen);
        drop(replies);
    }
    /* With a resolver that does not respond the others are left to the connections. */
    uint64_t end_ms = clock_mono_ms() + RESOLVE_MAX_MS;
    for (unsigned i = 0; i < map->place_n && clock_mono_ms() < end_ms; i++)
        resolve(&map->places[i]);
    return map->place_n > 0;
}

bool topology_ask(struct topology_asked *asked, struct topology_map *ret_map, char *reason,
                  size_t reason_size)
{
    snprintf(reason, reason_size, "nobody to ask");
    return asked->kind == REDIS_SENTINEL ? ask_sentinels(asked, ret_map, reason, reason_size)
                                         : ask_members(asked, ret_map, reason, reason_size);
}
