/* SPDX-License-Identifier: MIT
 * conn.c - see conn.h.
 *
 *   DOWN --connect--> CONNECTING --connected--> GREETING --logged in, right server--> UP
 *    ^                    |                         |                                 |
 *    +---- backoff -------+------------ lost -------+---------------------------------+
 *
 * hiredis frees its context after a disconnect, so `ac` is NULL in DOWN. With TLS, the handshake is
 * a part of CONNECTING (link.h). */
#include "shared/redis/conn.h"

#include "shared/base/buf.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"
#include "shared/redis/agreement_record.h"
#include "shared/redis/backoff.h"
#include "shared/redis/link.h"
#include "shared/redis/replies.h"
#include "shared/redis/tls.h"
#include "shared/redis/topology.h"
#include "shared/redis/wire.h"

#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <hiredis/sds.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
    CONNECT_MAX_MS = 3000,
    STEADY_MS = 1000,
    REASON_BYTES = 240,
    WATCH_MS = 1000,     /* one atomic read, and only with a topology */
    FOLLOW_MAX_MS = 250, /* between two tries of a server that is being replaced */
    WIRE_MAX = 128 << 20,
    /* A host that disappears without closing its connections, as by a power cut, is noticed within
     * 30 s: the bus only listens, and would wait indefinitely. */
    UNACKED_MAX_MS = 30000,
    KEEPALIVE_IDLE_S = 15,
    KEEPALIVE_INTERVAL_S = 5
};
#define GONE_ELSEWHERE "its data is on another server now"

enum conn_state { CONN_DOWN, CONN_CONNECTING, CONN_GREETING, CONN_UP };

static const struct sm_state states[] = {
    [CONN_DOWN] = {"DOWN", SM(CONN_CONNECTING)},
    [CONN_CONNECTING] = {"CONNECTING", SM(CONN_GREETING) | SM(CONN_DOWN)},
    [CONN_GREETING] = {"GREETING", SM(CONN_UP) | SM(CONN_DOWN)},
    [CONN_UP] = {"UP", SM(CONN_DOWN)},
};
static const struct sm sm = SM_OF("redis connection", states);

/* hiredis keeps one of these per command under way. */
struct pending {
    redis_reply_cb *on_reply;
    void *arg;
    struct redis_conn *conn;
    struct pending *next_free;
    bool is_subscription;
};

struct redis_conn {
    struct loop *loop;
    struct redis_conn_config config;
    struct redis_address place; /* what its address means, as of the last connect */
    unsigned version;           /* of the topology then */
    enum conn_state state;
    uint64_t number;       /* for the log of its states */
    redisAsyncContext *ac; /* of the current connection */
    bool is_destroying;
    struct deadline retry;
    unsigned backoff_ms;
    uint64_t up_since_ms;
    enum redis_trouble trouble; /* of the last connection that was lost */
    bool is_loss_said;          /* in the log, so the next connection is said, too */
    bool was_ever_up;           /* before, nothing is lost yet */
    struct log_limit limit;
    const char *reset_reason; /* inside redis_conn_reset */
    struct pending *free_pending;
    struct buf words;
};

static void move(struct redis_conn *conn, enum conn_state to)
{
    conn->state = sm_move(&sm, conn->number, conn->state, to);
}

static void say_loss(struct redis_conn *conn, const char *reason, unsigned wait_ms)
{
    uint64_t times;
    char place[REDIS_PLACE_BYTES];
    if (!log_limit_passes(&conn->limit, reason, &times))
        return;
    conn->is_loss_said = true;
    redis_put_place(&conn->place, place);
    log_write(LOG_WARN, conn->was_ever_up ? "redis lost" : "redis is not connected yet",
              LOG_S("connection", conn->config.name), LOG_S("server", place),
              LOG_S("reason", reason), LOG_S("advice", redis_trouble_info(conn->trouble)->text),
              LOG_U("times", times), LOG_U("retry_ms", wait_ms));
}

static void lose(struct redis_conn *conn, const char *reason)
{
    if (conn->state == CONN_DOWN)
        return;
    bool was_up = conn->state == CONN_UP;
    move(conn, CONN_DOWN);
    conn->ac = NULL;
    if (conn->is_destroying)
        return;
    if (was_up && clock_mono_ms() - conn->up_since_ms > STEADY_MS)
        conn->backoff_ms = 0;
    unsigned wait_ms = redis_backoff_next_ms(&conn->backoff_ms);
    if (conn->config.address->topology != NULL) {
        topology_hint(conn->config.address, &conn->place, reason);
        if (wait_ms > FOLLOW_MAX_MS)
            wait_ms = FOLLOW_MAX_MS - wait_ms % (FOLLOW_MAX_MS / 2); /* keeps its jitter */
    }
    conn->trouble = redis_trouble_of(reason);
    if (conn->trouble == REDIS_FINE)
        conn->trouble = REDIS_AWAY;
    if (conn->config.on_failed != NULL)
        conn->config.on_failed(conn->config.arg, reason, wait_ms);
    else
        say_loss(conn, reason, wait_ms);
    loop_set_deadline(conn->loop, &conn->retry, wait_ms);
    if (was_up)
        conn->config.on_lost(conn->config.arg);
}

/* True, and the connection is given up, when a command of the greeting was refused. */
static bool is_refused(struct redis_conn *conn, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ERROR)
        return false;
    redis_conn_reset(conn, reply->str);
    return true;
}

/* A wrong password is no harm to SELECT where the default user needs none: it must not pass. */
static void on_login(void *arg, const redisReply *reply)
{
    struct redis_conn *conn = arg;
    if (conn->state == CONN_GREETING && reply != NULL)
        (void)is_refused(conn, reply);
}

static void say_connected(struct redis_conn *conn)
{
    char place[REDIS_PLACE_BYTES];
    if (conn->config.on_failed != NULL || (!conn->is_loss_said && conn->limit.said_ms != 0))
        return;
    redis_put_place(&conn->place, place);
    log_write(LOG_INFO, "redis connected", LOG_S("connection", conn->config.name),
              LOG_S("server", place));
    conn->is_loss_said = false;
}

static void come_up(struct redis_conn *conn)
{
    loop_cancel_deadline(conn->loop, &conn->retry);
    if (conn->config.address->topology != NULL)
        loop_set_deadline(conn->loop, &conn->retry, WATCH_MS);
    move(conn, CONN_UP);
    conn->was_ever_up = true;
    conn->up_since_ms = clock_mono_ms();
    say_connected(conn);
    conn->config.on_connect(conn->config.arg);
}

/* Returns why a server that replied so is not used, or NULL. While a shard moves (ASK) the record
 * may be at its target already, and no verb runs here: that is no reason to connect again. */
static const char *problem_of(const struct redis_conn *conn, const redisReply *reply)
{
    const struct shard_map *map = conn->config.map;
    bool is_only = map->server_n == 1;
    if (reply->type == REDIS_REPLY_STRING)
        return agreement_problem((struct str){reply->str, (size_t)reply->len}, map,
                                 conn->config.shard % map->server_n);
    if (reply->type == REDIS_REPLY_NIL)
        return is_only ? NULL : AGREEMENT_EMPTIED;
    if (reply->type != REDIS_REPLY_ERROR)
        return NULL;
    bool is_elsewhere = topology_is_passing(conn->config.address, reply->str) &&
                        redis_trouble_of(reply->str) != REDIS_ASK;
    /* LOADING, for one: what it has is not known yet. The owner of an only server that took no
     * record finds out what is wrong with it. */
    return is_elsewhere || !is_only ? reply->str : NULL;
}

static void on_record(void *arg, const redisReply *reply)
{
    struct redis_conn *conn = arg;
    if (conn->state != CONN_GREETING || reply == NULL)
        return;
    const char *problem = problem_of(conn, reply);
    if (problem != NULL) {
        redis_conn_reset(conn, problem);
        return;
    }
    if (reply->type == REDIS_REPLY_NIL)
        conn->config.on_emptied(conn->config.arg);
    come_up(conn);
}

/* Asks for the server's record of the cluster, and writes it where an only one has none. */
static void check_server(struct redis_conn *conn)
{
    const struct shard_map *map = conn->config.map;
    char key[AGREEMENT_KEY_BYTES], text[AGREEMENT_TEXT_BYTES];
    if (map == NULL || (map->server_n == 1 && conn->config.on_emptied == NULL)) {
        come_up(conn);
        return;
    }
    if (!atomic_load(&map->is_agreed)) {
        redis_conn_reset(conn, "the number of shards is not known yet");
        return;
    }
    unsigned server = conn->config.shard % map->server_n;
    struct agreement record = agreement_of(map, server);
    struct str name = agreement_key(map, server, key);
    struct str get[] = {STR("GET"), name};
    struct str set[] = {STR("SET"), name, agreement_put(&record, text), STR("NX"), STR("GET")};
    bool is_only = map->server_n == 1;
    (void)!redis_conn_command(conn, on_record, conn, is_only ? set : get, is_only ? 5 : 2);
}

static void on_greeted(void *arg, const redisReply *reply)
{
    struct redis_conn *conn = arg;
    if (conn->state == CONN_GREETING && reply != NULL && !is_refused(conn, reply))
        check_server(conn);
}

/* Sentinel may not know yet that this server is no longer the master, or the server may not. */
static void on_role(void *arg, const redisReply *reply)
{
    struct redis_conn *conn = arg;
    if (conn->state != CONN_GREETING || reply == NULL || is_refused(conn, reply))
        return;
    bool is_master = reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
                     reply->element[0]->type == REDIS_REPLY_STRING &&
                     strcmp(reply->element[0]->str, "master") == 0;
    if (!is_master)
        redis_conn_reset(conn, TOPOLOGY_NOT_MASTER);
}

/* AUTH and SELECT are answered in order: the last command of the greeting stands for all. */
static void greet(struct redis_conn *conn)
{
    char db[16];
    const struct redis_address *a = conn->config.address;
    move(conn, CONN_GREETING);
    struct str auth[3];
    size_t auth_n = redis_auth_words(a, auth);
    if (auth_n > 0 && redis_conn_command(conn, on_login, conn, auth, auth_n) != ERR_OK)
        return;
    snprintf(db, sizeof db, "%d", a->db);
    struct str name[] = {STR("CLIENT"), STR("SETNAME"), str_of(conn->config.name)};
    struct str role[] = {STR("ROLE")};
    struct str select[] = {STR("SELECT"), str_of(db)};
    if (topology_needs_role(a) && redis_conn_command(conn, on_role, conn, role, 1) != ERR_OK)
        return;
    /* No flush here: a failed write would free the context, which hiredis 0.14 still uses after
     * on_connected returns. The write event that is already requested sends the commands. */
    if (redis_conn_command(conn, on_login, conn, name, 3) == ERR_OK)
        (void)!redis_conn_command(conn, on_greeted, conn, select, 2);
}

static void set_option(int fd, int level, int option, int value)
{
    setsockopt(fd, level, option, &value, sizeof value);
}

static void on_connected(const redisAsyncContext *ac, int status)
{
    struct redis_conn *conn = ac->data;
    if (conn->ac != ac)
        return; /* given up meanwhile */
    if (status != REDIS_OK) {
        lose(conn, ac->errstr);
        return;
    }
    if (conn->place.path[0] == 0) {
        set_option(ac->c.fd, IPPROTO_TCP, TCP_NODELAY, 1);
        set_option(ac->c.fd, SOL_SOCKET, SO_KEEPALIVE, 1);
        set_option(ac->c.fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
        set_option(ac->c.fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
        set_option(ac->c.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNACKED_MAX_MS);
    }
    greet(conn);
}

static void on_disconnected(const redisAsyncContext *ac, int status)
{
    struct redis_conn *conn = ac->data;
    if (conn->ac != ac)
        return;
    const char *reason = status == REDIS_OK ? "closed" : ac->errstr;
    lose(conn, conn->reset_reason != NULL ? conn->reset_reason : reason);
}

static void on_failed(void *arg, const char *reason)
{
    redis_conn_reset(arg, reason);
}

static void connect_now(struct redis_conn *conn)
{
    const struct redis_address *a = &conn->place;
    char unknown[REASON_BYTES];
    move(conn, CONN_CONNECTING);
    conn->version = topology_version(conn->config.address);
    if (!topology_locate(conn->config.address, &conn->place, unknown, sizeof unknown)) {
        conn->place = *conn->config.address;
        lose(conn, unknown);
        return;
    }
    redisAsyncContext *ac =
        a->path[0] != 0 ? redisAsyncConnectUnix(a->path) : redisAsyncConnect(a->host, a->port);
    if (ac == NULL || ac->err != 0) {
        char reason[128];
        snprintf(reason, sizeof reason, "%s", ac == NULL ? "out of memory" : ac->errstr);
        if (ac != NULL)
            redisAsyncFree(ac);
        lose(conn, reason);
        return;
    }
    conn->ac = ac;
    ac->data = conn;
    redis_replies_pool(ac->c.reader);
    redisAsyncSetConnectCallback(ac, on_connected);
    redisAsyncSetDisconnectCallback(ac, on_disconnected);
    redis_link_attach(conn->loop, ac, a, on_failed);
    loop_set_deadline(conn->loop, &conn->retry, CONNECT_MAX_MS);
}

static bool has_left(struct redis_conn *conn)
{
    unsigned version = topology_version(conn->config.address);
    if (conn->state != CONN_UP || conn->version == version)
        return false;
    conn->version = version;
    return topology_has_left(conn->config.address, &conn->place);
}

/* A connection that only listens would not notice it otherwise. */
static void watch(struct redis_conn *conn)
{
    loop_set_deadline(conn->loop, &conn->retry, WATCH_MS);
    if (!has_left(conn))
        return;
    if (conn->config.on_elsewhere != NULL)
        conn->config.on_elsewhere(conn->config.arg);
    else
        redis_conn_reset(conn, GONE_ELSEWHERE);
}

void redis_conn_check_place(struct redis_conn *conn)
{
    if (has_left(conn))
        redis_conn_reset(conn, GONE_ELSEWHERE);
}

const struct redis_address *redis_conn_place(const struct redis_conn *conn)
{
    return &conn->place;
}

/* In DOWN: time to try again. In UP: is it still the right server? Otherwise: connecting or
 * greeting took too long. */
static void on_retry(struct deadline *deadline)
{
    struct redis_conn *conn = container_of(deadline, struct redis_conn, retry);
    if (conn->state == CONN_DOWN)
        connect_now(conn);
    else if (conn->state == CONN_UP)
        watch(conn);
    else
        redis_conn_reset(conn,
                         redis_link_is_shaking(conn->ac) ? REDIS_TLS_LATE : "connection timed out");
}

void redis_conn_connect(struct redis_conn *conn)
{
    if (conn->state == CONN_DOWN)
        connect_now(conn);
}

struct redis_conn *redis_conn_create(struct loop *loop, const struct redis_conn_config *config)
{
    struct redis_conn *conn = mem_zeroed(sizeof *conn);
    conn->loop = loop;
    conn->number = sm_number();
    conn->config = *config;
    conn->retry.on_expire = on_retry;
    buf_init(&conn->words, WIRE_MAX);
    connect_now(conn);
    return conn;
}

void redis_conn_destroy(struct redis_conn *conn)
{
    if (conn == NULL)
        return;
    conn->is_destroying = true;
    loop_cancel_deadline(conn->loop, &conn->retry);
    if (conn->ac != NULL)
        redisAsyncFree(conn->ac);
    while (conn->free_pending != NULL) {
        struct pending *next = conn->free_pending->next_free;
        free(conn->free_pending);
        conn->free_pending = next;
    }
    buf_fini(&conn->words);
    free(conn);
}

static void on_reply_of_hiredis(redisAsyncContext *ac, void *reply, void *arg)
{
    struct pending *pending = arg;
    (void)ac;
    redis_reply_cb *on_reply = pending->on_reply;
    void *reply_arg = pending->arg;
    if (!pending->is_subscription || reply == NULL) {
        pending->next_free = pending->conn->free_pending;
        pending->conn->free_pending = pending;
    }
    if (on_reply != NULL)
        on_reply(reply_arg, reply);
}

static enum err send_wire(struct redis_conn *conn, struct str wire, redis_reply_cb *on_reply,
                          void *arg, bool is_subscription)
{
    if (conn->state != CONN_UP && conn->state != CONN_GREETING)
        return ERR_REDIS_LOST;
    struct pending *pending = conn->free_pending;
    if (pending != NULL)
        conn->free_pending = pending->next_free;
    else
        pending = mem_alloc(sizeof *pending);
    *pending = (struct pending){
        .on_reply = on_reply, .arg = arg, .conn = conn, .is_subscription = is_subscription};
    if (redisAsyncFormattedCommand(conn->ac, on_reply_of_hiredis, pending, wire.at, wire.n) !=
        REDIS_OK) {
        pending->next_free = conn->free_pending;
        conn->free_pending = pending;
        return ERR_REDIS_LOST;
    }
    return ERR_OK;
}

enum err redis_conn_send(struct redis_conn *conn, struct str wire, redis_reply_cb *on_reply,
                         void *arg)
{
    return send_wire(conn, wire, on_reply, arg, false);
}

/* hiredis reads of a command its first word only, and sends what is appended to it. */
enum err redis_conn_send_long(struct redis_conn *conn, struct str head, struct str word,
                              redis_reply_cb *on_reply, void *arg)
{
    enum err error = send_wire(conn, head, on_reply, arg, false);
    if (error != ERR_OK)
        return error;
    if (redisAppendFormattedCommand(&conn->ac->c, word.at, word.n) != REDIS_OK ||
        redisAppendFormattedCommand(&conn->ac->c, "\r\n", 2) != REDIS_OK)
        abort(); /* out of memory */
    return ERR_OK;
}

enum err redis_conn_command(struct redis_conn *conn, redis_reply_cb *on_reply, void *arg,
                            const struct str *words, size_t n)
{
    buf_clear(&conn->words);
    wire_put_words(&conn->words, words, n);
    buf_terminate(&conn->words);
    if (conn->words.is_over)
        return ERR_INTERNAL;
    return send_wire(conn, buf_str(&conn->words), on_reply, arg,
                     str_eq(words[0], STR("SUBSCRIBE")));
}

enum err redis_conn_send_unanswered(struct redis_conn *conn, struct str wire)
{
    if (conn->state != CONN_UP)
        return ERR_REDIS_LOST;
    if (redisAppendFormattedCommand(&conn->ac->c, wire.at, wire.n) != REDIS_OK)
        abort(); /* out of memory */
    conn->ac->ev.addWrite(conn->ac->ev.data);
    return ERR_OK;
}

size_t redis_conn_unsent_bytes(const struct redis_conn *conn)
{
    return conn->ac == NULL ? 0 : sdslen(conn->ac->c.obuf);
}

void redis_conn_flush(struct redis_conn *conn)
{
    /* hiredis 1 aborts when it is asked to write inside one of its callbacks; the write event that
     * every command asks for does it right after. */
    if (conn->ac != NULL && (conn->state == CONN_UP || conn->state == CONN_GREETING) &&
        (conn->ac->c.flags & REDIS_IN_CALLBACK) == 0)
        redisAsyncHandleWrite(conn->ac);
}

void redis_conn_push(struct redis_conn *conn)
{
    int is_done;
    if (conn->ac != NULL && conn->state == CONN_UP && (conn->ac->c.flags & REDIS_IN_CALLBACK) == 0)
        (void)redisBufferWrite(&conn->ac->c, &is_done);
}

enum redis_trouble redis_conn_trouble(const struct redis_conn *conn)
{
    return conn->trouble == REDIS_FINE ? REDIS_AWAY : conn->trouble;
}

void redis_conn_reset(struct redis_conn *conn, const char *reason)
{
    redisAsyncContext *ac = conn->ac;
    if (ac == NULL)
        return;
    conn->reset_reason = reason;
    redisAsyncFree(ac); /* runs every callback with NULL, now or after the one it is in */
    lose(conn, reason);
    conn->reset_reason = NULL;
}
