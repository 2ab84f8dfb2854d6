/* SPDX-License-Identifier: MIT
 * blocking.c - see blocking.h.
 *
 * The connection is conn.c's, on a loop that runs only while the thread waits here; blocking_stop
 * wakes it. A command that blocks in Redis is not left behind on a stop, for Redis might just then
 * give it a job that nobody would read: a second connection ends it with CLIENT UNBLOCK, and its
 * answer is read as always.
 *
 * An attempt is one exchange on a connection. Lost, late, or refused for a passing reason (Redis is
 * loading, read-only, ...): the next one follows after a pause (backoff.h). Verbs are in
 * blocking_verb.c, the connection is made in blocking_connect.c. */
#include "shared/redis/blocking_internal.h"

#include "shared/base/clock.h"
#include "shared/base/mem.h"
#include "shared/redis/backoff.h"
#include "shared/redis/replies.h"
#include "shared/redis/topology.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    HEAD_MAX_BYTES = 1024,
    ANSWER_MAX_MS = 15000, /* an upload of 25 MiB goes through a slow link too */
    STOPPING_MAX_MS = 2000,
};

/* --- one attempt ---------------------------------------------------------------------------- */

static void drop_reply(struct blocking *blocking)
{
    redis_reply_free(blocking->reply);
    blocking->reply = NULL;
    free(blocking->strings);
    blocking->strings = NULL;
}

static void on_reply(void *arg, const redisReply *reply)
{
    struct blocking *blocking = arg;
    if (!blocking->is_waiting)
        return; /* of a subscription */
    blocking->is_waiting = false;
    blocking->reply = reply == NULL ? NULL : redis_reply_keep(reply);
}

/* Ends the command on which our connection blocks, at the server where it is. A failure is
 * harmless, because the command times out. */
static void unblock(struct blocking *blocking)
{
    struct redis_address place = *redis_conn_place(blocking->conn);
    struct str words[] = {STR("CLIENT"), STR("UNBLOCK"), str_of(blocking->client_id)};
    struct blocking_answer answer;
    place.kind = REDIS_SERVER;
    place.topology = NULL;
    struct blocking *other = blocking_create(&(struct blocking_config){
        .address = &place, .name = blocking->config.name, .patience_ms = 1, .is_quiet = true});
    (void)!blocking_command(other, words, 3, 0, &answer);
    blocking_destroy(other);
}

/* On a stop the end moves closer. */
static void await_reply(struct blocking *blocking, unsigned block_ms)
{
    bool was_stopping = atomic_load(&blocking->is_stopping);
    uint64_t now_ms = clock_mono_ms();
    uint64_t end_ms = now_ms + (was_stopping ? STOPPING_MAX_MS : ANSWER_MAX_MS) + block_ms;
    for (; blocking->is_waiting; now_ms = clock_mono_ms()) {
        if (now_ms >= end_ms) {
            redis_conn_reset(blocking->conn, "no answer in time");
            continue;
        }
        if (!was_stopping && atomic_load(&blocking->is_stopping)) {
            was_stopping = true;
            if (end_ms > now_ms + STOPPING_MAX_MS)
                end_ms = now_ms + STOPPING_MAX_MS;
            if (block_ms > 0)
                unblock(blocking);
        }
        loop_run_once(&blocking->loop, end_ms - now_ms);
    }
}

static bool exchange(struct blocking *blocking, const struct blocking_request *request)
{
    drop_reply(blocking);
    if (!blocking_connect(blocking))
        return false;
    blocking->error[0] = 0;
    enum err error =
        request->words != NULL
            ? redis_conn_command(blocking->conn, on_reply, blocking, request->words, request->n)
            : redis_conn_send_long(blocking->conn, request->head, request->rest, on_reply,
                                   blocking);
    if (error != ERR_OK) {
        blocking_set_error(blocking, error == ERR_INTERNAL ? "call too large" : "connection lost");
        return false;
    }
    blocking->is_waiting = true;
    redis_conn_flush(blocking->conn);
    await_reply(blocking, request->block_ms);
    return blocking->reply != NULL;
}

unsigned blocking_connection_n(const struct blocking *blocking)
{
    return blocking->connection_n;
}

uint64_t blocking_patience_ms(const struct blocking *blocking)
{
    return blocking->config.patience_ms;
}

void blocking_set_patience(struct blocking *blocking, uint64_t patience_ms)
{
    blocking->config.patience_ms = patience_ms;
}

void blocking_use(struct blocking *blocking, const char *prefix)
{
    blocking->config.prefix = prefix;
}

void blocking_pause(struct blocking *blocking, unsigned ms)
{
    uint64_t now_ms = clock_mono_ms(), end_ms = now_ms + ms;
    for (; now_ms < end_ms && !atomic_load(&blocking->is_stopping); now_ms = clock_mono_ms())
        loop_run_once(&blocking->loop, end_ms - now_ms);
}

bool blocking_pause_between(struct blocking *blocking)
{
    unsigned wait_ms = redis_backoff_next_ms(&blocking->backoff_ms);
    if (blocking_is_over(blocking, clock_mono_ms() + wait_ms))
        return false;
    blocking_pause(blocking, wait_ms);
    return !atomic_load(&blocking->is_stopping);
}

static bool load_library(struct blocking *blocking)
{
    struct buf text;
    struct redis_library_names names;
    buf_init(&text, LIBRARY_MAX_BYTES);
    redis_library_put(&text, &names);
    struct str words[] = {STR("FUNCTION"), STR("LOAD"), buf_str(&text)};
    bool is_loaded = exchange(blocking, &(struct blocking_request){.words = words, .n = 3});
    if (is_loaded && blocking->reply->type == REDIS_REPLY_ERROR &&
        !redis_library_is_there(blocking->reply->str)) {
        blocking_set_error(blocking, blocking->reply->str);
        blocking_say(blocking,
                     "cannot load the function library (Redis 7 or Valkey 8 is required)");
        is_loaded = false;
    }
    buf_fini(&text);
    return is_loaded;
}

void blocking_begin(struct blocking *blocking)
{
    blocking->since_ms = clock_mono_ms();
    if (blocking->conn == NULL || blocking->is_up || atomic_load(&blocking->is_stopping))
        return;
    blocking->retry_ms = 0;
    redis_conn_connect(blocking->conn);
}

void blocking_say_that_it_works(struct blocking *blocking)
{
    blocking->backoff_ms = 0;
    if (blocking->is_said)
        log_write(LOG_INFO, "redis recovered", LOG_S("connection", blocking->config.name));
    blocking->is_said = false;
}

enum err blocking_attempt(struct blocking *blocking, const struct blocking_request *request)
{
    for (bool is_loaded = false;; is_loaded = true) {
        if (!exchange(blocking, request))
            return ERR_REDIS_LOST;
        if (blocking->reply->type != REDIS_REPLY_ERROR)
            return ERR_OK;
        blocking_set_error(blocking, blocking->reply->str);
        if (is_loaded || !redis_library_is_missing(blocking->error))
            break;
        if (!load_library(blocking))
            return ERR_REDIS_LOST;
    }
    enum redis_trouble trouble = redis_trouble_of(blocking->error);
    const struct redis_trouble_info *info = redis_trouble_info(trouble);
    if (topology_is_elsewhere(blocking->config.address, blocking->error)) {
        redis_conn_reset(blocking->conn, blocking->error);
        return ERR_REDIS_LOST;
    }
    if (!info->is_passing && !redis_library_is_missing(blocking->error))
        return ERR_CONFLICT;
    blocking_say(blocking, "redis refuses");
    return trouble == REDIS_FULL ? ERR_STORE_FULL : ERR_REDIS_LOST;
}

/* --- calls ---------------------------------------------------------------------------------- */

/* Until there is an answer that means something. */
static enum err call(struct blocking *blocking, const struct blocking_request *request)
{
    blocking_begin(blocking);
    for (;;) {
        enum err error = blocking_attempt(blocking, request);
        if (error == ERR_OK)
            blocking_say_that_it_works(blocking);
        if (error == ERR_OK || error == ERR_CONFLICT)
            return error;
        if (!blocking_pause_between(blocking))
            return ERR_REDIS_LOST;
    }
}

static size_t count_leaves(const redisReply *reply)
{
    size_t n = 0;
    if (reply->type != REDIS_REPLY_ARRAY)
        return 1;
    for (size_t i = 0; i < reply->elements; i++)
        n += count_leaves(reply->element[i]);
    return n;
}

/* Puts them from `to` on, and returns where the next one belongs. */
static struct str *put_leaves(const redisReply *reply, struct str *to)
{
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++)
        to = put_leaves(reply->element[i], to);
    if (reply->type != REDIS_REPLY_ARRAY)
        *to++ = (struct str){reply->str, (size_t)reply->len};
    return to;
}

enum err blocking_command(struct blocking *blocking, const struct str *words, size_t n,
                          unsigned block_ms, struct blocking_answer *ret_answer)
{
    enum err error =
        call(blocking, &(struct blocking_request){.words = words, .n = n, .block_ms = block_ms});
    if (error != ERR_OK)
        return error;
    size_t leaf_n = count_leaves(blocking->reply);
    blocking->strings = mem_zeroed_n(leaf_n + 1, sizeof *blocking->strings);
    put_leaves(blocking->reply, blocking->strings);
    *ret_answer = (struct blocking_answer){blocking->strings, leaf_n};
    return ERR_OK;
}

const char *blocking_problem(struct blocking *blocking)
{
    char place[REDIS_PLACE_BYTES];
    enum redis_trouble trouble = redis_trouble_of(blocking->error);
    redis_put_place(blocking_place(blocking), place);
    snprintf(blocking->problem, sizeof blocking->problem, "Redis at %s (--redis): %s. %s", place,
             blocking->error,
             trouble == REDIS_FINE && blocking->is_up ? "The log of Redis may say more"
             : trouble == REDIS_FINE ? "Check that Redis runs there, or correct --redis"
                                     : redis_trouble_info(trouble)->text);
    return blocking->problem;
}

const char *blocking_error(const struct blocking *blocking)
{
    return blocking->error;
}

/* --- life ----------------------------------------------------------------------------------- */

struct blocking *blocking_create(const struct blocking_config *config)
{
    struct blocking *blocking = mem_zeroed(sizeof *blocking);
    char hex[17];
    struct buf text;
    str_random_hex(8, hex);
    blocking->config = *config;
    /* Zeroes for the settings of the queue's verbs, which are not called from here. */
    snprintf(blocking->settings, sizeof blocking->settings, "s%s 0 0 0 0 0 0", hex);
    loop_init(&blocking->loop);
    buf_init(&blocking->head, HEAD_MAX_BYTES);
    buf_init(&blocking->wire, BLOCKING_WIRE_MAX_BYTES);
    buf_init(&blocking->joined, BLOCKING_WIRE_MAX_BYTES);
    buf_init(&text, LIBRARY_MAX_BYTES);
    redis_library_put(&text, &blocking->functions);
    buf_fini(&text);
    return blocking;
}

void blocking_destroy(struct blocking *blocking)
{
    if (blocking == NULL)
        return;
    redis_conn_destroy(blocking->conn);
    loop_fini(&blocking->loop);
    drop_reply(blocking);
    buf_fini(&blocking->head);
    buf_fini(&blocking->wire);
    buf_fini(&blocking->joined);
    free(blocking);
}

void blocking_stop(struct blocking *blocking)
{
    atomic_store(&blocking->is_stopping, true);
    loop_wake(&blocking->loop);
}
