/* SPDX-License-Identifier: MIT
 *
 * sync: a connection to Redis for threads that may wait: indexers and command-line tools. It
 * connects by itself and again after a loss (backoff with jitter), loads the function library where
 * it is missing, and repeats what failed for want of a connection: so only verbs and commands that
 * may run twice go through it. Used by one thread at a time; the owner locks if there are several.
 */
#ifndef PARLEY_REDIS_SYNC_H
#define PARLEY_REDIS_SYNC_H

#include "shared/redis/call.h"
#include "shared/redis/conn.h"
#include "shared/redis/shard_map.h"

struct sync;

struct sync_config {
    const struct redis_address *address;
    const char *prefix; /* KEYS[1] of the library, "parley:{0}:" */
    const char *name;   /* shown in logs and in Redis's CLIENT LIST */
    /* How long one call goes on trying without Redis. 0: forever. */
    uint64_t patience_ms;
    bool is_quiet; /* nothing is logged: the caller says it */
    /* The cluster as it was agreed on (agreement.h), and which of its servers this is: each
     * connection is compared with it, so that a server that has lost its data, or is of another
     * cluster, is as one that is away. NULL: any server is taken. */
    const struct shard_map *map;
    unsigned server;
};

/* Does not connect yet: the first call does. `config` is copied, what it points to is borrowed. */
struct sync *sync_create(const struct sync_config *config) must_check;
/* Accepts NULL. */
void sync_destroy(struct sync *sync);

/* Ends waiting: a command that blocks in Redis is ended there, pauses between tries end, and every
 * call from now on makes one try of at most 2 seconds over the connection that stands. So what a
 * thread holds can still be given back. Any thread, and async-signal-safe. */
void sync_stop(struct sync *sync);

uint64_t sync_patience_ms(const struct sync *sync);
/* Another patience, and another prefix (borrowed), from the next call on: a connection serves all
 * shards of its server. */
void sync_set_patience(struct sync *sync, uint64_t patience_ms);
void sync_use(struct sync *sync, const char *prefix);

/* Waits so long, or until sync_stop. */
void sync_pause(struct sync *sync, unsigned ms);

/* One verb of the function library, called as a turn of its own:
 *
 *     struct sync_call call = {.sync = sync};
 *     call_sweep(sync_start(&call), .limit = n);
 *     if (call.error == ERR_OK) ... call.reply
 */
struct sync_call {
    struct sync *sync;
    /* Redis is full, and this verb has to wait for room: NULL waits as for a lost connection. Else
     * it is called before each further try, may call another verb, and returns false to give up. */
    bool (*on_full)(struct sync_call *call);
    /* ERR_OK. ERR_REDIS_LOST: stopped, or out of patience; the verb may have run. ERR_STORE_FULL:
     * `on_full` gave up; it has not run. ERR_INTERNAL: the verb broke, which is logged. An error
     * that is there before stays, and nothing is called. */
    enum err error;
    struct str reply; /* the verb's string, valid until the connection's next call */
};
static inline struct call_start sync_start(struct sync_call *call)
{
    return (struct call_start){.sync = call};
}

/* What a command answered: its strings, numbers (as text) and nils (at == NULL) in order, nested
 * lists laid flat. Valid until the next call. */
struct sync_answer {
    const struct str *at;
    size_t n;
};
/* Sends one command. `block_ms`: how long the command itself may block in Redis; 0 for one that
 * does not. ERR_OK, ERR_REDIS_LOST as above, or ERR_CONFLICT: Redis refused it, see sync_error. */
enum err sync_command(struct sync *sync, const struct str *words, size_t n, unsigned block_ms,
                      struct sync_answer *ret_answer) must_check;
/* What Redis, or the connection, last said was wrong; never NULL. For people, and for the first
 * word of a refused command. */
const char *sync_error(const struct sync *sync);

#endif
