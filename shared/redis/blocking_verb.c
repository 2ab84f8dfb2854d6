/* SPDX-License-Identifier: MIT
 * blocking_verb.c - see blocking.h: verbs of the function library, each as a turn of its own.
 *
 * A verb is written once. How many words the command has and which function it calls is known
 * later: that is the head, which is written before each attempt. A verb that is refused while Redis
 * is full goes to the function that runs then (library.h). A large one does not: it stores, and
 * would be refused, too. */
#include "shared/redis/blocking_internal.h"

#include "shared/base/clock.h"
#include "shared/redis/parts.h"
#include "shared/redis/wire.h"

#include <stdlib.h>

enum {
    FREEING_MAX_BYTES = 64 << 10,
    ARGC_DIGITS = 6,
};

struct buf *blocking_verb_begin(struct blocking_call *call, const struct verb_info *verb)
{
    struct blocking *blocking = call->blocking;
    struct buf *wire = &blocking->wire;
    buf_clear(wire);
    blocking->argc_at = wire_put_numbered(wire, verb->name, ARGC_DIGITS);
    blocking->nonce_argc = verb->takes_nonce;
    if (verb->takes_nonce)
        wire_put(wire, STR("0"));
    return wire;
}

/* The whole command, whose last end of a word is put by redis_conn_send_long. */
static struct blocking_request request_of(struct blocking *blocking, const char *function,
                                          unsigned argc)
{
    const struct str words[] = {STR("FCALL"),
                                str_of(function),
                                STR("1"),
                                str_of(blocking->config.prefix),
                                str_of(blocking->settings),
                                STR("0") /* nonces */};
    size_t n = sizeof words / sizeof words[0];
    buf_clear(&blocking->head);
    wire_begin(&blocking->head, n + 1 + argc);
    for (size_t i = 0; i < n; i++)
        wire_put(&blocking->head, words[i]);
    buf_terminate(&blocking->head);
    return (struct blocking_request){.head = buf_str(&blocking->head),
                                     .rest = {blocking->wire.at, blocking->wire.n - 2}};
}

/* The verb's own part of the reply. */
static enum err read_reply(struct blocking *blocking, struct str *ret_reply)
{
    if (blocking->reply->type != REDIS_REPLY_ARRAY || blocking->reply->elements == 0) {
        blocking_set_error(blocking, "no list");
        return ERR_INTERNAL;
    }
    const redisReply *first = blocking->reply->element[0];
    if (first->type == REDIS_REPLY_ERROR && redis_verb_is_refused(first->str))
        return ERR_STORE_FULL; /* blocking->error has Redis's own words */
    if (first->type != REDIS_REPLY_STRING) {
        blocking_set_error(blocking, first->type == REDIS_REPLY_ERROR ? first->str : "no string");
        return ERR_INTERNAL;
    }
    *ret_reply = parts_text(blocking->reply, 0, &blocking->joined);
    return ERR_OK;
}

static enum err attempt(struct blocking *blocking, unsigned argc, struct str *ret_reply)
{
    char error_text[BLOCKING_ERROR_BYTES];
    struct blocking_request request = request_of(blocking, blocking->functions.turn, argc);
    enum err error = blocking_attempt(blocking, &request);
    if (error == ERR_OK) {
        blocking_say_that_it_works(blocking);
        return read_reply(blocking, ret_reply);
    }
    if (error != ERR_STORE_FULL || request.rest.n > FREEING_MAX_BYTES)
        return error;
    memcpy(error_text, blocking->error, sizeof error_text);
    request = request_of(blocking, blocking->functions.turn_freeing, argc);
    error = blocking_attempt(blocking, &request);
    if (error == ERR_OK)
        error = read_reply(blocking, ret_reply);
    if (error == ERR_STORE_FULL)
        memcpy(blocking->error, error_text, sizeof error_text);
    return error;
}

/* The owner may call another verb meanwhile: this one is kept until then. */
static bool ask_owner(struct blocking_call *call)
{
    struct blocking *blocking = call->blocking;
    struct buf wire = blocking->wire;
    size_t argc_at = blocking->argc_at;
    uint64_t since_ms = blocking->since_ms;
    buf_init(&blocking->wire, BLOCKING_WIRE_MAX_BYTES);
    bool goes_on = call->on_full(call);
    buf_fini(&blocking->wire);
    blocking->wire = wire;
    blocking->argc_at = argc_at;
    blocking->since_ms = since_ms;
    return goes_on;
}

static enum err try_until(struct blocking_call *call, unsigned argc)
{
    struct blocking *blocking = call->blocking;
    blocking_begin(blocking);
    for (;;) {
        enum err error = attempt(blocking, argc, &call->reply);
        if (error == ERR_STORE_FULL && call->on_full != NULL) {
            if (!ask_owner(call))
                return ERR_STORE_FULL;
            continue;
        }
        if (error != ERR_REDIS_LOST && error != ERR_STORE_FULL)
            return error;
        if (!blocking_pause_between(blocking))
            return ERR_REDIS_LOST;
    }
}

void blocking_verb_end(struct blocking_call *call, unsigned argc)
{
    struct blocking *blocking = call->blocking;
    argc += blocking->nonce_argc;
    if (call->error != ERR_OK)
        return;
    if (blocking->wire.is_over) {
        blocking_set_error(blocking, "call too large");
        call->error = ERR_INTERNAL;
    } else {
        wire_set_number(&blocking->wire, blocking->argc_at, ARGC_DIGITS, argc);
        call->error = try_until(call, argc);
    }
    if (call->error == ERR_OK || call->error == ERR_REDIS_LOST || call->error == ERR_STORE_FULL)
        return;
    call->error = ERR_INTERNAL;
    if (!blocking->config.is_quiet)
        log_write(LOG_ERROR, "a verb failed", LOG_S("error", blocking->error));
}
