/* SPDX-License-Identifier: MIT
 *
 * conn: one connection to Redis on one loop, that is made again indefinitely (backoff with jitter).
 * hiredis 0.14 has no timeouts, no reconnect and no libh2o adapter: all three are here, and no
 * other folder sees hiredis. Used on the loop's thread only.
 */
#ifndef PARLEY_REDIS_CONN_H
#define PARLEY_REDIS_CONN_H

#include "shared/base/err.h"
#include "shared/op/loop.h"
#include "shared/redis/address.h"
#include "shared/redis/trouble.h"

struct redis_conn;
struct redisReply;

struct redis_events {
    /* The connection is made and authenticated. Commands may be sent from here on. */
    void (*on_connect)(void *arg);
    /* It is gone; every command under way has had its callback with a NULL reply, or has it right
     * after, where redis_conn_reset was called inside a reply's callback. */
    void (*on_lost)(void *arg);
    void *arg;
};

/* Starts connecting. `events` is copied, `address` and `name` are borrowed; `name` is shown in logs
 * and in Redis's CLIENT LIST. Events run on the loop's thread, never before it returns. */
struct redis_conn *redis_conn_create(struct loop *loop, const struct redis_address *address,
                                     const char *name, struct redis_events events) must_check;
/* Commands under way have their callbacks with NULL first; no event runs. Accepts NULL. */
void redis_conn_destroy(struct redis_conn *conn);

/* `reply` is valid inside the callback only, and NULL when the connection was lost. Runs once per
 * command, never before redis_conn_send returns. */
typedef void redis_reply_cb(void *arg, const struct redisReply *reply);

/* Sends `wire`, commands already in Redis's protocol, with a NUL after it (buf_terminate), one
 * reply expected. ERR_REDIS_LOST (and no callback) when the connection is down. Written at
 * redis_conn_flush at the latest. */
enum err redis_conn_send(struct redis_conn *conn, struct str wire, redis_reply_cb *on_reply,
                         void *arg) must_check;
/* The same of a command whose last word is long, and is not copied into a wire first: `head` is the
 * command up to and with that word's length (wire_put_head). Both are borrowed inside the call
 * only. */
enum err redis_conn_send_long(struct redis_conn *conn, struct str head, struct str word,
                              redis_reply_cb *on_reply, void *arg) must_check;
/* The same from words. */
enum err redis_conn_command(struct redis_conn *conn, redis_reply_cb *on_reply, void *arg,
                            const struct str *words, size_t n) must_check;
/* Subscribes to one channel; from then on the connection takes subscriptions only. The callback
 * runs for the confirmation, for every message, and once with NULL when the connection is lost. */
enum err redis_conn_subscribe(struct redis_conn *conn, struct str channel,
                              redis_reply_cb *on_message, void *arg) must_check;
/* Writes what was sent since the last call, now, instead of after the next poll. */
void redis_conn_flush(struct redis_conn *conn);
/* Writes what it can at once, and no callback runs: that it failed is noticed by the next flush, or
 * the loop. */
void redis_conn_push(struct redis_conn *conn);
/* Why it is down; REDIS_AWAY while it has not been up yet. Of no meaning while it is up. */
enum redis_trouble redis_conn_trouble(const struct redis_conn *conn);
/* Gives the connection up, as if it had been lost, and makes a new one. `reason`: for the
 * log, and Redis's own words where it said why. */
void redis_conn_reset(struct redis_conn *conn, const char *reason);

#endif
