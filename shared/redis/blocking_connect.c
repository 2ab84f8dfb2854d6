/* SPDX-License-Identifier: MIT
 * blocking_connect.c - the connection of a thread that waits: made, logged in and lost; see
 * blocking.h. */
#include "shared/redis/agreement_record.h"
#include "shared/redis/blocking_internal.h"
#include "shared/redis/tls.h"
#include "shared/redis/topology.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { CONNECT_MAX_MS = 3000 };

const struct redis_address *blocking_place(const struct blocking *blocking)
{
    const struct redis_address *place = &blocking->place;
    return place->port == 0 && place->path[0] == 0 ? blocking->config.address : place;
}

void blocking_set_error(struct blocking *blocking, const char *text)
{
    snprintf(blocking->error, sizeof blocking->error, "%s", text);
}

void blocking_disconnect(struct blocking *blocking)
{
    if (blocking->context != NULL)
        redisFree(blocking->context);
    blocking->context = NULL;
}

void blocking_say(struct blocking *blocking, const char *message)
{
    uint64_t times;
    enum redis_trouble trouble = redis_trouble_of(blocking->error);
    if (blocking->config.is_quiet || !log_limit_passes(&blocking->limit, blocking->error, &times))
        return;
    blocking->is_said = true;
    if (trouble == REDIS_FINE)
        trouble = REDIS_AWAY;
    char place[REDIS_PLACE_BYTES];
    redis_put_place(blocking_place(blocking), place);
    log_write(LOG_WARN, message, LOG_S("connection", blocking->config.name), LOG_S("server", place),
              LOG_S("reason", blocking->error), LOG_S("advice", redis_trouble_info(trouble)->text),
              LOG_U("times", times));
}

void blocking_lose(struct blocking *blocking, const char *reason)
{
    topology_hint(blocking->config.address, &blocking->place, reason);
    blocking_set_error(blocking, reason);
    blocking_disconnect(blocking);
    blocking_say(blocking,
                 blocking->connection_n == 0 ? "redis is not connected yet" : "redis lost");
}

static redisContext *open_context(const struct redis_address *a)
{
    struct timeval limit = {.tv_sec = CONNECT_MAX_MS / 1000};
    redisContext *c = a->path[0] != 0 ? redisConnectUnixWithTimeout(a->path, limit)
                                      : redisConnectWithTimeout(a->host, a->port, limit);
    if (c == NULL)
        abort();
    int one = 1;
    if (c->err == 0 && a->path[0] == 0)
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (c->err == 0)
        redisSetTimeout(c, limit);
    if (c->err == 0 && a->is_tls) {
        redis_tls_begin(c, redis_name_of(a));
        (void)redis_tls_shake(c);
    }
    return c;
}

/* Sends one short command and waits for its reply, which is the caller's; NULL when it failed. */
static redisReply *ask(redisContext *c, const struct str *words, size_t n)
{
    const char *at[4];
    size_t length[4];
    for (size_t i = 0; i < n; i++) {
        at[i] = words[i].at;
        length[i] = words[i].n;
    }
    return redisCommandArgv(c, (int)n, at, length);
}

/* True when the reply is no error. */
static bool asked(struct blocking *blocking, redisContext *c, const struct str *words, size_t n)
{
    redisReply *reply = ask(c, words, n);
    bool is_good = reply != NULL && reply->type != REDIS_REPLY_ERROR;
    if (!is_good)
        blocking_set_error(blocking, reply == NULL ? c->errstr : reply->str);
    if (is_good && reply->type == REDIS_REPLY_INTEGER)
        blocking->client_id = reply->integer;
    if (reply != NULL)
        freeReplyObject(reply);
    return is_good;
}

static bool greet(struct blocking *blocking, redisContext *c)
{
    const struct redis_address *a = blocking->config.address;
    char db[16];
    snprintf(db, sizeof db, "%d", a->db);
    struct str auth[3];
    size_t auth_n = redis_auth_words(a, auth);
    struct str name[] = {STR("CLIENT"), STR("SETNAME"), str_of(blocking->config.name)};
    struct str id[] = {STR("CLIENT"), STR("ID")};
    struct str select[] = {STR("SELECT"), str_of(db)};
    if (auth_n > 0 && !asked(blocking, c, auth, auth_n))
        return false;
    return asked(blocking, c, name, 3) && asked(blocking, c, select, 2) &&
           asked(blocking, c, id, 2);
}

/* Asks an only server nothing: it may have lost its data (conn.h). */
static bool is_agreed_on(struct blocking *blocking, redisContext *c)
{
    const struct shard_map *map = blocking->config.map;
    char key[AGREEMENT_KEY_BYTES];
    if (map == NULL || map->server_n == 1)
        return true;
    struct str words[] = {STR("GET"), agreement_key(map, blocking->config.server, key)};
    redisReply *reply = ask(c, words, 2);
    const char *problem = AGREEMENT_EMPTIED;
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
        problem = reply == NULL ? c->errstr : reply->str;
    else if (reply->type == REDIS_REPLY_STRING)
        problem = agreement_problem((struct str){reply->str, (size_t)reply->len}, map,
                                    blocking->config.server);
    if (problem != NULL)
        blocking_set_error(blocking, problem);
    if (reply != NULL)
        freeReplyObject(reply);
    return problem == NULL;
}

/* Sentinel may not know yet that this server is no longer the master. */
static bool is_master(struct blocking *blocking, redisContext *c)
{
    if (!topology_needs_role(blocking->config.address))
        return true;
    redisReply *reply = ask(c, (struct str[]){STR("ROLE")}, 1);
    bool is_good = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
                   reply->element[0]->type == REDIS_REPLY_STRING &&
                   strcmp(reply->element[0]->str, "master") == 0;
    if (!is_good)
        blocking_set_error(blocking, reply == NULL                      ? c->errstr
                                     : reply->type == REDIS_REPLY_ERROR ? reply->str
                                                                        : TOPOLOGY_NOT_MASTER);
    if (reply != NULL)
        freeReplyObject(reply);
    return is_good;
}

bool blocking_connect(struct blocking *blocking)
{
    char unknown[BLOCKING_ERROR_BYTES];
    if (!topology_await(blocking->config.address, CONNECT_MAX_MS, &blocking->place, unknown,
                        sizeof unknown)) {
        blocking_lose(blocking, unknown);
        return false;
    }
    redisContext *c = open_context(&blocking->place);
    bool is_open = c->err == 0;
    if (!is_open)
        blocking_set_error(blocking, c->errstr);
    if (!is_open || !greet(blocking, c) || !is_master(blocking, c) || !is_agreed_on(blocking, c)) {
        redisFree(c);
        char reason[BLOCKING_ERROR_BYTES];
        memcpy(reason, blocking->error, sizeof reason);
        blocking_lose(blocking, reason);
        return false;
    }
    blocking->context = c;
    blocking->connection_n++;
    return true;
}

void blocking_unblock(struct blocking *blocking)
{
    char id[BLOCKING_NUMBER_BYTES];
    snprintf(id, sizeof id, "%lld", blocking->client_id);
    struct str words[] = {STR("CLIENT"), STR("UNBLOCK"), str_of(id)};
    redisContext *c = open_context(&blocking->place);
    struct str auth[3];
    size_t auth_n = redis_auth_words(blocking->config.address, auth);
    if (c->err == 0 && (auth_n == 0 || asked(blocking, c, auth, auth_n))) {
        redisReply *reply = ask(c, words, 3);
        if (reply != NULL)
            freeReplyObject(reply);
    }
    redisFree(c);
}
