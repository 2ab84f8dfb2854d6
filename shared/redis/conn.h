/* SPDX-License-Identifier: MIT
 *
 * conn: one connection to Redis on one loop. It reconnects automatically (backoff with jitter),
 * each time to the server that its address means at that moment (topology.h), logs in, and compares
 * the server with the agreed cluster (agreement.h) before its owner can use it. hiredis 0.14 has no
 * timeouts, no reconnect and no libh2o adapter, so this module provides them; no other folder uses
 * hiredis. Used on the loop's thread only.
 */
#ifndef PARLEY_REDIS_CONN_H
#define PARLEY_REDIS_CONN_H

#include "shared/base/err.h"
#include "shared/op/loop.h"
#include "shared/redis/address.h"
#include "shared/redis/trouble.h"

struct redis_conn;
struct redisReply;
struct shard_map;

/* Events run on the loop's thread, never before redis_conn_create returns, except on_failed. */
struct redis_conn_config {
    const struct redis_address *address; /* borrowed, as are `name` and `map` */
    const char *name;                    /* shown in logs and in Redis's CLIENT LIST */
    /* The agreed cluster in which the server must have `shard`; NULL: any server is accepted. */
    const struct shard_map *map;
    unsigned shard;
    /* The connection is established, authenticated and checked. Commands may be sent from now on.
     */
    void (*on_connect)(void *arg);
    /* The connection is lost; every pending command has had its callback with a NULL reply, or gets
     * it right after this if redis_conn_reset was called inside a reply's callback. */
    void (*on_lost)(void *arg);
    /* The address means another server now (topology.h), while this connection still works: call
     * redis_conn_reset when it suits. NULL: reset at once. */
    void (*on_elsewhere)(void *arg);
    /* Runs before on_connect if the only server of a cluster has lost its data, as it may: it has
     * been given the cluster's record again. One of several is refused then, because the others
     * refer to what it has lost. NULL: an only server is not checked. */
    void (*on_emptied)(void *arg);
    /* Instead of lines in the log: the connection was lost, or could not be made, for `reason`, and
     * is made again after `wait_ms`. NULL: the log has it. */
    void (*on_failed)(void *arg, const char *reason, unsigned wait_ms);
    void *arg;
};

/* Starts connecting. `config` is copied. */
struct redis_conn *redis_conn_create(struct loop *loop,
                                     const struct redis_conn_config *config) must_check;
/* Pending commands first get their callbacks with NULL; no event runs. Accepts NULL. */
void redis_conn_destroy(struct redis_conn *conn);

/* `reply` is valid inside the callback only, and NULL if the connection was lost. Runs once per
 * command, never before redis_conn_send returns. */
typedef void redis_reply_cb(void *arg, const struct redisReply *reply);

/* Sends `wire`, commands already in Redis's protocol, with a NUL after it (buf_terminate), one
 * reply expected. ERR_REDIS_LOST (and no callback) if the connection is down. Written by
 * redis_conn_flush at the latest. */
enum err redis_conn_send(struct redis_conn *conn, struct str wire, redis_reply_cb *on_reply,
                         void *arg) must_check;
/* The same for a command whose last word is long and is sent without copying it into a wire: `head`
 * is the command up to and including that word's length (wire_put_head). Both are borrowed only
 * during the call. */
enum err redis_conn_send_long(struct redis_conn *conn, struct str head, struct str word,
                              redis_reply_cb *on_reply, void *arg) must_check;
/* The same from words; also ERR_INTERNAL (and no callback) if they are larger than a call may be.
 * After SUBSCRIBE the connection accepts only subscriptions, and the callback runs for the
 * confirmation, for every message, and once with NULL when the connection is lost. */
enum err redis_conn_command(struct redis_conn *conn, redis_reply_cb *on_reply, void *arg,
                            const struct str *words, size_t n) must_check;
/* Sends a command that Redis does not answer, because replies are off there (CLIENT REPLY). On one
 * that it does answer the connection ends. */
enum err redis_conn_send_unanswered(struct redis_conn *conn, struct str wire) must_check;
/* Bytes of commands that are not written yet. */
size_t redis_conn_unsent_bytes(const struct redis_conn *conn);
/* Connects now if it is down and waits for its next attempt. */
void redis_conn_connect(struct redis_conn *conn);
/* Writes pending commands now instead of after the next poll. */
void redis_conn_flush(struct redis_conn *conn);
/* Writes what it can without running callbacks: the next flush or the loop notices a failure. */
void redis_conn_push(struct redis_conn *conn);
/* Returns why it is down; REDIS_AWAY if it has not been up yet. Meaningless while it is up. */
enum redis_trouble redis_conn_trouble(const struct redis_conn *conn);
/* Closes the connection as if it had been lost, and reconnects. `reason`: for the log, in Redis's
 * own words if it gave a reason, which say where to connect now if they are MOVED. */
void redis_conn_reset(struct redis_conn *conn, const char *reason);
/* Resets it if its address means another server now. */
void redis_conn_check_place(struct redis_conn *conn);
/* The server that it is, or was last, connected to. */
const struct redis_address *redis_conn_place(const struct redis_conn *conn);

#endif
