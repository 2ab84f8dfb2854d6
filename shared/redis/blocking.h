/* SPDX-License-Identifier: MIT
 *
 * blocking: Redis for threads that wait: indexers and command-line tools. A connection (conn.h) on
 * a loop of its own, which runs inside these functions only. It loads the function library if it is
 * missing, and repeats calls that failed because of the connection. So use it only for verbs and
 * commands that may run twice. One thread at a time; with several the owner locks.
 */
#ifndef PARLEY_REDIS_BLOCKING_H
#define PARLEY_REDIS_BLOCKING_H

#include "shared/redis/call.h"
#include "shared/redis/conn.h"
#include "shared/redis/shard_map.h"

struct blocking;

struct blocking_config {
    const struct redis_address *address;
    const char *prefix; /* KEYS[1] of the library, "parley:{0}:" */
    const char *name;   /* shown in logs and in Redis's CLIENT LIST */
    /* How long a call retries without Redis. 0: indefinitely. */
    uint64_t patience_ms;
    bool is_quiet; /* logs nothing: the caller reports errors */
    /* The agreed cluster (agreement.h) and the index of this server. Each connection is checked
     * against it, so a server that has lost its data or belongs to another cluster counts as
     * unreachable. NULL: accepts any server. */
    const struct shard_map *map;
    unsigned server;
};

/* Does not connect yet: the first call does. Copies `config` and borrows what it points to. */
struct blocking *blocking_create(const struct blocking_config *config) must_check;
/* Accepts NULL. */
void blocking_destroy(struct blocking *blocking);

/* Stops waiting: ends a command that blocks in Redis and pauses between attempts. Each later call
 * makes one attempt of at most 2 seconds over the existing connection, so that a thread can still
 * give back what it holds. Any thread, and async-signal-safe. */
void blocking_stop(struct blocking *blocking);

/* Returns the number of connections so far, which changes with each new one. A cursor of SCAN or
 * HSCAN is not valid on a new connection: it may lead to a different server, or to one that has
 * restarted and has its keys in a different order. */
unsigned blocking_connection_n(const struct blocking *blocking);

uint64_t blocking_patience_ms(const struct blocking *blocking);
/* Set another patience or prefix (borrowed) for later calls: one connection serves all shards of
 * its server. */
void blocking_set_patience(struct blocking *blocking, uint64_t patience_ms);
void blocking_use(struct blocking *blocking, const char *prefix);

/* Waits `ms`, or until blocking_stop. */
void blocking_pause(struct blocking *blocking, unsigned ms);

/* One verb of the function library, called as a separate turn:
 *
 *     struct blocking_call call = {.blocking = blocking};
 *     call_sweep(blocking_start(&call), .limit = n);
 *     if (call.error == ERR_OK) ... call.reply
 */
struct blocking_call {
    struct blocking *blocking;
    /* Called if Redis is full before each further attempt; it may call another verb and returns
     * false to give up. NULL: waits as for a lost connection. */
    bool (*on_full)(struct blocking_call *call);
    /* ERR_OK. ERR_REDIS_LOST: stopped or timed out; the verb may have run. ERR_STORE_FULL:
     * `on_full` gave up; the verb has not run. ERR_INTERNAL: the verb failed, which is logged. If
     * an error is already set, it stays and nothing is called. */
    enum err error;
    struct str reply; /* the verb's string, valid until the connection's next call */
};
static inline struct call_start blocking_start(struct blocking_call *call)
{
    return (struct call_start){.blocking = call};
}

/* The reply of a command: its strings, numbers (as text) and nils (at == NULL) in order, nested
 * lists flattened. Valid until the next call. */
struct blocking_answer {
    const struct str *at;
    size_t n;
};
/* Sends one command. `block_ms`: how long the command itself may block in Redis; 0 for one that
 * does not. ERR_OK, ERR_REDIS_LOST as above, or ERR_CONFLICT: Redis refused it, see blocking_error.
 */
enum err blocking_command(struct blocking *blocking, const struct str *words, size_t n,
                          unsigned block_ms, struct blocking_answer *ret_answer) must_check;
/* The last error of Redis or the connection; never NULL. Human-readable; its first word is Redis's
 * error code. */
const char *blocking_error(const struct blocking *blocking);
/* The same for a person: "Redis at 127.0.0.1:6379/0 (--redis): Connection refused", and what to do.
 * Valid until the next call. */
const char *blocking_problem(struct blocking *blocking);

#endif
