/* SPDX-License-Identifier: MIT
 *
 * blocking_internal: shared by blocking.c (commands), blocking_verb.c (verbs), blocking_connect.c
 * (the connection) and verb.c. */
#ifndef PARLEY_REDIS_BLOCKING_INTERNAL_H
#define PARLEY_REDIS_BLOCKING_INTERNAL_H

#include "shared/base/buf.h"
#include "shared/base/log.h"
#include "shared/op/loop.h"
#include "shared/redis/blocking.h"
#include "shared/redis/library.h"
#include "shared/redis/trouble.h"
#include "shared/redis/verb_info.h"

#include <hiredis/hiredis.h>
#include <stdatomic.h>

enum {
    BLOCKING_ERROR_BYTES = 240,
    BLOCKING_PROBLEM_BYTES = 768, /* with a place and an advice */
    BLOCKING_WIRE_MAX_BYTES = 128 << 20
};

struct blocking {
    struct blocking_config config;
    struct loop loop;        /* runs while the thread waits here */
    struct redis_conn *conn; /* NULL: not needed yet */
    bool is_up;
    uint64_t retry_ms;        /* when `conn` tries again; 0: it is trying, or up */
    bool is_waiting;          /* for a reply */
    struct redisReply *reply; /* of the last call; NULL: the connection was lost */
    struct buf joined;        /* its text, when it came in parts */
    struct str *strings;      /* blocking_answer */
    struct buf head, wire;    /* of a call of a verb: see blocking_verb.c */
    size_t argc_at;
    unsigned nonce_argc;
    struct redis_library_names functions;
    char settings[48]; /* of the frame (lua/turn/frame.lua) */
    char error[BLOCKING_ERROR_BYTES], problem[BLOCKING_PROBLEM_BYTES];
    char client_id[24];
    unsigned connection_n;
    unsigned backoff_ms; /* after a refusal */
    uint64_t since_ms;   /* when the call began */
    atomic_bool is_stopping;
    bool is_said; /* the loss or refusal is logged, so log the recovery too */
    struct log_limit limit;
};

/* One command: its words; or, if `words` is NULL, its bytes (redis_conn_send_long). */
struct blocking_request {
    const struct str *words;
    size_t n;
    struct str head, rest;
    unsigned block_ms; /* how long it may block in Redis */
};

/* --- blocking.c --- */

/* Begins a call: its patience, and an attempt to connect, start now. */
void blocking_begin(struct blocking *blocking);
/* Sends the request once, after loading the library if it is missing. ERR_OK: a reply without an
 * error. ERR_CONFLICT: a permanent error. Otherwise ERR_STORE_FULL, or ERR_REDIS_LOST for other
 * temporary errors. */
enum err blocking_attempt(struct blocking *blocking,
                          const struct blocking_request *request) must_check;
void blocking_say_that_it_works(struct blocking *blocking);
/* Waits before the next attempt; returns false if there must be none. */
bool blocking_pause_between(struct blocking *blocking) must_check;

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
/* Returns whether the call is given up before `at_ms`: its patience ends, or it is stopped. */
bool blocking_is_over(const struct blocking *blocking, uint64_t at_ms);
/* Waits until it is connected. Returns false with the reason in blocking->error if the call is
 * given up before that. */
bool blocking_connect(struct blocking *blocking) must_check;

#endif
