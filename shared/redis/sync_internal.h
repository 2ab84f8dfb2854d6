/* SPDX-License-Identifier: MIT
 *
 * sync_internal: what sync.c (commands), sync_verb.c (verbs) and sync_connect.c (the connection)
 * share; for these, and for verb.c. */
#ifndef PARLEY_REDIS_SYNC_INTERNAL_H
#define PARLEY_REDIS_SYNC_INTERNAL_H

#include "shared/base/buf.h"
#include "shared/redis/library.h"
#include "shared/redis/sync.h"
#include "shared/redis/trouble.h"
#include "shared/redis/verb.h"

#include <hiredis/hiredis.h>
#include <stdatomic.h>

enum { SYNC_ERROR_BYTES = 160, SYNC_NUMBER_BYTES = 24, SYNC_WIRE_MAX_BYTES = 128 << 20 };

struct sync {
    struct sync_config config;
    redisContext *context; /* NULL: not connected */
    redisReply *reply;     /* of the last call */
    struct buf joined;     /* its text, when it came in parts */
    struct str *strings;   /* sync_answer */
    char *numbers;
    struct buf wire; /* of the command; of the verb that is being written, see sync_verb.c */
    size_t verb_at, argc_at;
    unsigned nonce_argc;
    struct redis_library_names functions;
    char node_id[24], error[SYNC_ERROR_BYTES];
    long long client_id;
    unsigned backoff_ms;
    atomic_bool is_stopping;
    int wake_fd;
    bool is_said; /* that it is lost, or refuses: so it is said when it works again */
    struct log_limit limit;
};

/* --- sync.c --- */

/* Sends `wire` once, and the library first where it is missing. ERR_OK: there is a reply, no error.
 * ERR_CONFLICT: an error that trying again does not mend. Else ERR_STORE_FULL, or ERR_REDIS_LOST
 * for any other that may pass. */
enum err sync_attempt(struct sync *sync, struct str wire, unsigned block_ms) must_check;
void sync_say_that_it_works(struct sync *sync);
/* Waits before the next try; false when there shall be none. */
bool sync_pause_between(struct sync *sync, uint64_t since_ms) must_check;

/* --- sync_verb.c --- */

/* Begins a verb, without a nonce if it takes one; returns where its arguments are to be put. */
struct buf *sync_verb_begin(struct sync_call *call, const struct verb_info *verb);
/* Calls it, with so many arguments besides, and fills `call`. */
void sync_verb_end(struct sync_call *call, unsigned argc);

/* --- sync_connect.c --- */

void sync_set_error(struct sync *sync, const char *text);
/* Logs `message` with sync->error, once a minute. */
void sync_say(struct sync *sync, const char *message);
/* Ends the connection, for that reason. */
void sync_lose(struct sync *sync, const char *reason);
void sync_disconnect(struct sync *sync);
/* Connects and logs in; false, and the reason is in sync->error, when that failed. */
bool sync_connect(struct sync *sync) must_check;
/* Ends the command that our connection blocks in. A failure is no harm: it ends by itself. */
void sync_unblock(struct sync *sync);

#endif
