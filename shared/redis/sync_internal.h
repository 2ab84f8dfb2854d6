/* SPDX-License-Identifier: MIT
 *
 * sync_internal: what sync.c (calls) and sync_connect.c (the connection) share; for these alone. */
#ifndef PARLEY_REDIS_SYNC_INTERNAL_H
#define PARLEY_REDIS_SYNC_INTERNAL_H

#include "shared/base/buf.h"
#include "shared/redis/library.h"
#include "shared/redis/sync.h"
#include "shared/redis/trouble.h"

#include <hiredis/hiredis.h>
#include <stdatomic.h>

enum { SYNC_ERROR_BYTES = 160, SYNC_NUMBER_BYTES = 24 };

struct sync {
    struct sync_config config;
    redisContext *context; /* NULL: not connected */
    redisReply *reply;     /* of the last call */
    struct str *strings;   /* sync_answer */
    char *numbers;
    struct buf wire;
    struct redis_library_names functions;
    char node_id[24], error[SYNC_ERROR_BYTES];
    long long client_id;
    unsigned backoff_ms;
    atomic_bool is_stopping;
    int wake_fd;
    bool is_said; /* that it is lost, or refuses: so it is said when it works again */
    struct log_limit limit;
};

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
