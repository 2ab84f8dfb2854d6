/* SPDX-License-Identifier: MIT
 * sync.c - see sync.h.
 *
 * hiredis's blocking calls cannot be interrupted, so only its parts are used here: it connects and
 * writes with the socket's own timeouts, and reading waits in poll(2) for the socket or for
 * `wake_fd`, which sync_stop makes readable for good. A command that blocks in Redis is not left
 * behind on a stop, for Redis might just then give it a job that nobody would read: a second
 * connection ends it with CLIENT UNBLOCK, and its answer is read as always.
 *
 * A try is one exchange on a connection. Lost, late, or refused for a passing reason (Redis is
 * loading, read-only, ...): the next try follows after a pause (backoff.h).
 * Verbs are in sync_verb.c. */
#include "shared/redis/sync_internal.h"

#include "shared/base/clock.h"
#include "shared/redis/backoff.h"
#include "shared/redis/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    ANSWER_MAX_MS = 15000, /* an upload of 25 MiB goes through a slow link too */
    STOPPING_MAX_MS = 2000,
};

/* --- one try -------------------------------------------------------------------------------- */

/* Waits until the socket can be read; false when `end_ms` passed. On a stop the end moves closer.
 */
static bool wait_readable(struct sync *sync, uint64_t *end_ms, bool *is_blocking)
{
    bool was_stopping = atomic_load(&sync->is_stopping);
    for (;;) {
        uint64_t now_ms = clock_mono_ms();
        struct pollfd fds[2] = {{.fd = sync->context->fd, .events = POLLIN},
                                {.fd = sync->wake_fd, .events = POLLIN}};
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
                sync_unblock(sync);
            *is_blocking = false;
        }
    }
}

/* Sends the wire and reads one reply into sync->reply; false when the connection is no good. */
static bool exchange(struct sync *sync, struct str wire, unsigned block_ms)
{
    redisContext *c = sync->context;
    bool is_stopping = atomic_load(&sync->is_stopping), is_blocking = block_ms > 0;
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
        if (!wait_readable(sync, &end_ms, &is_blocking)) {
            sync_set_error(sync, "no answer in time");
            return false;
        }
        if (redisBufferRead(c) != REDIS_OK)
            return false;
    }
    sync->reply = reply;
    return true;
}

static void drop_reply(struct sync *sync)
{
    if (sync->reply != NULL)
        freeReplyObject(sync->reply);
    sync->reply = NULL;
    free(sync->strings);
    free(sync->numbers);
    sync->strings = NULL;
    sync->numbers = NULL;
}

static bool try_once(struct sync *sync, struct str wire, unsigned block_ms)
{
    if (sync->context == NULL && (atomic_load(&sync->is_stopping) || !sync_connect(sync)))
        return false;
    drop_reply(sync);
    sync->error[0] = 0;
    if (exchange(sync, wire, block_ms))
        return true;
    char reason[SYNC_ERROR_BYTES];
    snprintf(reason, sizeof reason, "%s",
             sync->error[0] != 0 ? sync->error : sync->context->errstr);
    sync_lose(sync, reason);
    return false;
}

uint64_t sync_patience_ms(const struct sync *sync)
{
    return sync->config.patience_ms;
}

void sync_set_patience(struct sync *sync, uint64_t patience_ms)
{
    sync->config.patience_ms = patience_ms;
}

void sync_use(struct sync *sync, const char *prefix)
{
    sync->config.prefix = prefix;
}

void sync_pause(struct sync *sync, unsigned ms)
{
    struct pollfd wake = {.fd = sync->wake_fd, .events = POLLIN};
    (void)poll(&wake, 1, (int)ms);
}

bool sync_pause_between(struct sync *sync, uint64_t since_ms)
{
    unsigned wait_ms = redis_backoff_next_ms(&sync->backoff_ms);
    uint64_t patience_ms = sync->config.patience_ms;
    if (patience_ms > 0 && clock_mono_ms() + wait_ms - since_ms > patience_ms)
        return false;
    sync_pause(sync, wait_ms);
    return !atomic_load(&sync->is_stopping);
}

static bool load_library(struct sync *sync)
{
    struct buf text, wire;
    struct redis_library_names names;
    buf_init(&text, LIBRARY_MAX_BYTES);
    buf_init(&wire, LIBRARY_MAX_BYTES + 1024);
    redis_library_put(&text, &names);
    wire_put_words(&wire, (struct str[]){STR("FUNCTION"), STR("LOAD"), buf_str(&text)}, 3);
    bool is_loaded = try_once(sync, buf_str(&wire), 0);
    if (is_loaded && sync->reply->type == REDIS_REPLY_ERROR &&
        !redis_library_is_there(sync->reply->str)) {
        sync_set_error(sync, sync->reply->str);
        sync_say(sync, "the function library cannot be loaded (Redis 7 or Valkey 8 needed)");
        is_loaded = false;
    }
    buf_fini(&wire);
    buf_fini(&text);
    return is_loaded;
}

void sync_say_that_it_works(struct sync *sync)
{
    sync->backoff_ms = 0;
    if (sync->is_said)
        log_write(LOG_INFO, "redis works again", LOG_S("connection", sync->config.name));
    sync->is_said = false;
}

enum err sync_attempt(struct sync *sync, struct str wire, unsigned block_ms)
{
    for (bool is_loaded = false;; is_loaded = true) {
        if (!try_once(sync, wire, block_ms))
            return ERR_REDIS_LOST;
        if (sync->reply->type != REDIS_REPLY_ERROR)
            return ERR_OK;
        sync_set_error(sync, sync->reply->str);
        if (is_loaded || !redis_library_is_missing(sync->error))
            break;
        if (!load_library(sync))
            return ERR_REDIS_LOST;
    }
    enum redis_trouble trouble = redis_trouble_of(sync->error);
    const struct redis_trouble_info *info = redis_trouble_info(trouble);
    if (!info->is_passing && !redis_library_is_missing(sync->error))
        return ERR_CONFLICT;
    sync_say(sync, "redis refuses");
    return trouble == REDIS_FULL ? ERR_STORE_FULL : ERR_REDIS_LOST;
}

/* --- calls ---------------------------------------------------------------------------------- */

/* Until there is an answer that means something. */
static enum err call(struct sync *sync, unsigned block_ms)
{
    uint64_t since_ms = clock_mono_ms();
    if (sync->wire.is_over) {
        sync_set_error(sync, "the call is too large");
        return ERR_INTERNAL;
    }
    for (;;) {
        enum err error = sync_attempt(sync, buf_str(&sync->wire), block_ms);
        if (error == ERR_OK)
            sync_say_that_it_works(sync);
        if (error == ERR_OK || error == ERR_CONFLICT)
            return error;
        if (atomic_load(&sync->is_stopping) || !sync_pause_between(sync, since_ms))
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

static size_t put_leaves(struct sync *sync, const redisReply *reply, size_t at)
{
    if (reply->type == REDIS_REPLY_ARRAY) {
        for (size_t i = 0; i < reply->elements; i++)
            at = put_leaves(sync, reply->element[i], at);
        return at;
    }
    struct str *leaf = &sync->strings[at];
    if (reply->type == REDIS_REPLY_INTEGER) {
        char *number = sync->numbers + at * SYNC_NUMBER_BYTES;
        snprintf(number, SYNC_NUMBER_BYTES, "%lld", reply->integer);
        *leaf = str_of(number);
    } else if (reply->type != REDIS_REPLY_NIL) {
        *leaf = (struct str){reply->str, (size_t)reply->len};
    }
    return at + 1;
}

enum err sync_command(struct sync *sync, const struct str *words, size_t n, unsigned block_ms,
                      struct sync_answer *ret_answer)
{
    buf_clear(&sync->wire);
    wire_put_words(&sync->wire, words, n);
    enum err error = call(sync, block_ms);
    if (error != ERR_OK)
        return error;
    size_t leaf_n = count_leaves(sync->reply);
    sync->strings = calloc(leaf_n + 1, sizeof *sync->strings);
    sync->numbers = malloc((leaf_n + 1) * SYNC_NUMBER_BYTES);
    if (sync->strings == NULL || sync->numbers == NULL)
        abort();
    put_leaves(sync, sync->reply, 0);
    *ret_answer = (struct sync_answer){sync->strings, leaf_n};
    return ERR_OK;
}

const char *sync_error(const struct sync *sync)
{
    return sync->error;
}

/* --- life ----------------------------------------------------------------------------------- */

struct sync *sync_create(const struct sync_config *config)
{
    struct sync *sync = calloc(1, sizeof *sync);
    char hex[17];
    struct buf text;
    if (sync == NULL)
        abort();
    str_random_hex(8, hex);
    sync->config = *config;
    snprintf(sync->node_id, sizeof sync->node_id, "s%s", hex);
    sync->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (sync->wake_fd < 0)
        abort();
    buf_init(&sync->wire, SYNC_WIRE_MAX_BYTES);
    buf_init(&sync->joined, SYNC_WIRE_MAX_BYTES);
    buf_init(&text, LIBRARY_MAX_BYTES);
    redis_library_put(&text, &sync->functions);
    buf_fini(&text);
    return sync;
}

void sync_destroy(struct sync *sync)
{
    if (sync == NULL)
        return;
    sync_disconnect(sync);
    drop_reply(sync);
    close(sync->wake_fd);
    buf_fini(&sync->wire);
    buf_fini(&sync->joined);
    free(sync);
}

void sync_stop(struct sync *sync)
{
    uint64_t one = 1;
    atomic_store(&sync->is_stopping, true);
    while (write(sync->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}
