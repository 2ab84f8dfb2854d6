/* SPDX-License-Identifier: MIT
 *
 * blocking_internal: shared by blocking.c (commands), blocking_verb.c (verbs), blocking_connect.c
 * (the connection) and verb.c. */
#ifndef PARLEY_REDIS_BLOCKING_INTERNAL_H
#define PARLEY_REDIS_BLOCKING_INTERNAL_H

#include "shared/base/buf.h"
#include "shared/redis/blocking.h"
#include "shared/redis/library.h"
#include "shared/redis/trouble.h"
#include "shared/redis/verb_info.h"

#include <hiredis/hiredis.h>
#include <stdatomic.h>

enum {
    BLOCKING_ERROR_BYTES = 160,
    BLOCKING_PROBLEM_BYTES = 768, /* with a place and an advice */
    BLOCKING_NUMBER_BYTES = 24,
    BLOCKING_WIRE_MAX_BYTES = 128 << 20
};

struct blocking {
    struct blocking_config config;
    redisContext *context;      /* NULL: not connected */
    struct redis_address place; /* where it is, or was last, connected (topology.h) */
    redisReply *reply;          /* of the last call */
    struct buf joined;          /* its text, when it came in parts */
    struct str *strings;        /* blocking_answer */
    char *numbers;
    struct buf wire; /* of the command; of the verb that is being written, see blocking_verb.c */
    size_t verb_at, argc_at;
    unsigned nonce_argc;
    struct redis_library_names functions;
    char node_id[24], error[BLOCKING_ERROR_BYTES], problem[BLOCKING_PROBLEM_BYTES];
    long long client_id;
    unsigned connection_n;
    unsigned backoff_ms;
    atomic_bool is_stopping;
    int wake_fd;
    bool is_said; /* the loss or refusal is logged, so log the recovery too */
    struct log_limit limit;
};

/* --- blocking.c --- */

/* Sends `wire` once, after loading the library if it is missing. ERR_OK: a reply without an error.
 * ERR_CONFLICT: a permanent error. Otherwise ERR_STORE_FULL, or ERR_REDIS_LOST for other temporary
 * errors. */
enum err blocking_attempt(struct blocking *blocking, struct str wire, unsigned block_ms) must_check;
void blocking_say_that_it_works(struct blocking *blocking);
/* Waits before the next attempt; returns false if there must be none. */
bool blocking_pause_between(struct blocking *blocking, uint64_t since_ms) must_check;

/* --- blocking_verb.c --- */

/* Begins a verb, without a nonce if it takes one; returns the buf for its arguments. */
struct buf *blocking_verb_begin(struct blocking_call *call, const struct verb_info *verb);
/* Calls it with `argc` further arguments and fills `call`. */
void blocking_verb_end(struct blocking_call *call, unsigned argc);

/* --- blocking_connect.c --- */

/* Where it is or was connected; before that, what it was given. */
const struct redis_address *blocking_place(const struct blocking *blocking);
void blocking_set_error(struct blocking *blocking, const char *text);
/* Logs `message` with blocking->error, once a minute. */
void blocking_say(struct blocking *blocking, const char *message);
/* Closes the connection for `reason`. */
void blocking_lose(struct blocking *blocking, const char *reason);
void blocking_disconnect(struct blocking *blocking);
/* Connects and logs in; on failure returns false with the reason in blocking->error. */
bool blocking_connect(struct blocking *blocking) must_check;
/* Ends the command on which our connection blocks. A failure is harmless, because the command times
 * out. */
void blocking_unblock(struct blocking *blocking);

#endif
