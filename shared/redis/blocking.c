/* SPDX-License-Identifier: MIT
 * blocking.c - see blocking.h.
 *
 * hiredis's blocking calls cannot be interrupted, so only its parts are used here: it connects and
 * writes with the socket's own timeouts, and reading waits in poll(2) for the socket or for
 * `wake_fd`, which blocking_stop makes readable for good. A command that blocks in Redis is not
 * left behind on a stop, for Redis might just then give it a job that nobody would read: a second
 * connection ends it with CLIENT UNBLOCK, and its answer is read as always.
 *
 * A try is one exchange on a connection. Lost, late, or refused for a passing reason (Redis is
 * loading, read-only, ...): the next try follows after a pause (backoff.h).
 * Verbs are in blocking_verb.c. */
#include "shared/redis/blocking_internal.h"

#include "shared/base/clock.h"
#include "shared/base/mem.h"
#include "shared/redis/backoff.h"
#include "shared/redis/topology.h"
#include "shared/redis/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    ANSWER_MAX_MS = 15000, /* an upload of 25 MiB goes through a slow link too */
    STOPPING_MAX_MS = 2000,
};

/* --- one try -------------------------------------------------------------------------------- */

/* Waits until the socket can be read; false when `end_ms` passed. On a stop the end moves closer.
 */
static bool wait_readable(struct blocking *blocking, uint64_t *end_ms, bool *is_blocking)
{
    bool was_stopping = atomic_load(&blocking->is_stopping);
    for (;;) {
        uint64_t now_ms = clock_mono_ms();
        struct pollfd fds[2] = {{.fd = blocking->context->fd, .events = POLLIN},
                                {.fd = blocking->wake_fd, .events = POLLIN}};
        if (now_ms >= *end_ms)
            return false;
        int n = poll(fds, was_stopping ? 1 : 2, (int)(*end_ms - now_ms));
        if (n > 0 && fds[0].revents != 0)
            return true;
        if (n > 0 && !was_stopping) {
            was_stopping = true;
            if (*end_ms > now_ms + STOPPING_MAX_MS)
                *end_ms = now_ms + STOPPING_MAX_MS;
            if (*is_blocking)
                blocking_unblock(blocking);
            *is_blocking = false;
        }
    }
}

/* Sends the wire and reads one reply into blocking->reply; false when the connection is no good. */
static bool exchange(struct blocking *blocking, struct str wire, unsigned block_ms)
{
    redisContext *c = blocking->context;
    bool is_stopping = atomic_load(&blocking->is_stopping), is_blocking = block_ms > 0;
    uint64_t end_ms = clock_mono_ms() + (is_stopping ? STOPPING_MAX_MS : ANSWER_MAX_MS) + block_ms;
    void *reply = NULL;
    int is_written = 0;
    if (redisAppendFormattedCommand(c, wire.at, wire.n) != REDIS_OK)
        return false;
    while (!is_written)
        if (redisBufferWrite(c, &is_written) != REDIS_OK)
            return false;
    for (;;) {
        if (redisReaderGetReply(c->reader, &reply) != REDIS_OK)
            return false;
        if (reply != NULL)
            break;
        if (!wait_readable(blocking, &end_ms, &is_blocking)) {
            blocking_set_error(blocking, "no answer in time");
            return false;
        }
        if (redisBufferRead(c) != REDIS_OK)
            return false;
    }
    blocking->reply = reply;
    return true;
}

static void drop_reply(struct blocking *blocking)
{
    if (blocking->reply != NULL)
        freeReplyObject(blocking->reply);
    blocking->reply = NULL;
    free(blocking->strings);
    free(blocking->numbers);
    blocking->strings = NULL;
    blocking->numbers = NULL;
}

static bool try_once(struct blocking *blocking, struct str wire, unsigned block_ms)
{
    if (blocking->context == NULL &&
        (atomic_load(&blocking->is_stopping) || !blocking_connect(blocking)))
        return false;
    drop_reply(blocking);
    blocking->error[0] = 0;
    if (exchange(blocking, wire, block_ms))
        return true;
    char reason[BLOCKING_ERROR_BYTES];
    snprintf(reason, sizeof reason, "%s",
             blocking->error[0] != 0 ? blocking->error : blocking->context->errstr);
    blocking_lose(blocking, reason);
    return false;
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
    struct pollfd wake = {.fd = blocking->wake_fd, .events = POLLIN};
    (void)poll(&wake, 1, (int)ms);
}

bool blocking_pause_between(struct blocking *blocking, uint64_t since_ms)
{
    unsigned wait_ms = redis_backoff_next_ms(&blocking->backoff_ms);
    uint64_t patience_ms = blocking->config.patience_ms;
    if (patience_ms > 0 && clock_mono_ms() + wait_ms - since_ms > patience_ms)
        return false;
    blocking_pause(blocking, wait_ms);
    return !atomic_load(&blocking->is_stopping);
}

static bool load_library(struct blocking *blocking)
{
    struct buf text, wire;
    struct redis_library_names names;
    buf_init(&text, LIBRARY_MAX_BYTES);
    buf_init(&wire, LIBRARY_MAX_BYTES + 1024);
    redis_library_put(&text, &names);
    wire_put_words(&wire, (struct str[]){STR("FUNCTION"), STR("LOAD"), buf_str(&text)}, 3);
    bool is_loaded = try_once(blocking, buf_str(&wire), 0);
    if (is_loaded && blocking->reply->type == REDIS_REPLY_ERROR &&
        !redis_library_is_there(blocking->reply->str)) {
        blocking_set_error(blocking, blocking->reply->str);
        blocking_say(blocking,
                     "cannot load the function library (Redis 7 or Valkey 8 is required)");
        is_loaded = false;
    }
    buf_fini(&wire);
    buf_fini(&text);
    return is_loaded;
}

void blocking_say_that_it_works(struct blocking *blocking)
{
    blocking->backoff_ms = 0;
    if (blocking->is_said)
        log_write(LOG_INFO, "redis recovered", LOG_S("connection", blocking->config.name));
    blocking->is_said = false;
}

enum err blocking_attempt(struct blocking *blocking, struct str wire, unsigned block_ms)
{
    for (bool is_loaded = false;; is_loaded = true) {
        if (!try_once(blocking, wire, block_ms))
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
        char reason[BLOCKING_ERROR_BYTES];
        memcpy(reason, blocking->error, sizeof reason);
        blocking_lose(blocking, reason);
        return ERR_REDIS_LOST;
    }
    if (!info->is_passing && !redis_library_is_missing(blocking->error))
        return ERR_CONFLICT;
    blocking_say(blocking, "redis refuses");
    return trouble == REDIS_FULL ? ERR_STORE_FULL : ERR_REDIS_LOST;
}

/* --- calls ---------------------------------------------------------------------------------- */

/* Until there is an answer that means something. */
static enum err call(struct blocking *blocking, unsigned block_ms)
{
    uint64_t since_ms = clock_mono_ms();
    if (blocking->wire.is_over) {
        blocking_set_error(blocking, "call too large");
        return ERR_INTERNAL;
    }
    for (;;) {
        enum err error = blocking_attempt(blocking, buf_str(&blocking->wire), block_ms);
        if (error == ERR_OK)
            blocking_say_that_it_works(blocking);
        if (error == ERR_OK || error == ERR_CONFLICT)
            return error;
        if (atomic_load(&blocking->is_stopping) || !blocking_pause_between(blocking, since_ms))
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

static size_t put_leaves(struct blocking *blocking, const redisReply *reply, size_t at)
{
    if (reply->type == REDIS_REPLY_ARRAY) {
        for (size_t i = 0; i < reply->elements; i++)
            at = put_leaves(blocking, reply->element[i], at);
        return at;
    }
    struct str *leaf = &blocking->strings[at];
    if (reply->type == REDIS_REPLY_INTEGER) {
        char *number = blocking->numbers + at * BLOCKING_NUMBER_BYTES;
        snprintf(number, BLOCKING_NUMBER_BYTES, "%lld", reply->integer);
        *leaf = str_of(number);
    } else if (reply->type != REDIS_REPLY_NIL) {
        *leaf = (struct str){reply->str, (size_t)reply->len};
    }
    return at + 1;
}

enum err blocking_command(struct blocking *blocking, const struct str *words, size_t n,
                          unsigned block_ms, struct blocking_answer *ret_answer)
{
    buf_clear(&blocking->wire);
    wire_put_words(&blocking->wire, words, n);
    enum err error = call(blocking, block_ms);
    if (error != ERR_OK)
        return error;
    size_t leaf_n = count_leaves(blocking->reply);
    blocking->strings = mem_zeroed_n(leaf_n + 1, sizeof *blocking->strings);
    blocking->numbers = mem_alloc((leaf_n + 1) * BLOCKING_NUMBER_BYTES);
    put_leaves(blocking, blocking->reply, 0);
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
             trouble == REDIS_FINE && blocking->context != NULL ? "The log of Redis may say more"
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
    snprintf(blocking->node_id, sizeof blocking->node_id, "s%s", hex);
    blocking->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (blocking->wake_fd < 0)
        abort();
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
    blocking_disconnect(blocking);
    drop_reply(blocking);
    close(blocking->wake_fd);
    buf_fini(&blocking->wire);
    buf_fini(&blocking->joined);
    free(blocking);
}

void blocking_stop(struct blocking *blocking)
{
    uint64_t one = 1;
    atomic_store(&blocking->is_stopping, true);
    while (write(blocking->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}
