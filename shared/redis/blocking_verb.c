/* SPDX-License-Identifier: MIT
 * blocking_verb.c - see blocking.h: verbs of the function library, each as a turn of its own.
 *
 * A verb is written once, after a gap. How many words the command has and which function it calls
 * is known later, and is put into the gap, right before the verb: so a verb that is tried again, or
 * goes to the function that runs while Redis is full (library.h), is not written again. A large one
 * does not go there: it stores, and would be refused, too. */
#include "shared/redis/blocking_internal.h"

#include "shared/base/clock.h"
#include "shared/redis/parts.h"
#include "shared/redis/wire.h"

#include <stdlib.h>

enum {
    FREEING_MAX_BYTES = 64 << 10,
    HEAD_BYTES = 512, /* without the prefix */
    FRAME_WORDS = 6,  /* FCALL name 1 prefix, and the two words of the turn's frame */
    ARGC_DIGITS = 6,
};

struct buf *blocking_verb_begin(struct blocking_call *call, const struct verb_info *verb)
{
    struct blocking *blocking = call->blocking;
    struct buf *wire = &blocking->wire;
    buf_clear(wire);
    blocking->verb_at = HEAD_BYTES + strlen(blocking->config.prefix);
    char *gap = buf_reserve(wire, blocking->verb_at);
    if (gap == NULL)
        abort();
    wire->n += blocking->verb_at;
    blocking->argc_at = wire_put_numbered(wire, verb->name, ARGC_DIGITS);
    blocking->nonce_argc = verb->takes_nonce;
    if (verb->takes_nonce)
        wire_put(wire, STR("0"));
    return wire;
}

/* Zeroes for the settings of the queue's verbs, which are not called from here. */
static void put_settings(struct buf *head, const char *node_id)
{
    const struct str zeroes = STR(" 0 0 0 0 0 0");
    struct str node = str_of(node_id);
    wire_put_head(head, node.n + zeroes.n);
    buf_put(head, node);
    buf_put(head, zeroes);
    buf_lit(head, "\r\n");
}

/* The whole command. */
static struct str finish(struct blocking *blocking, const char *function, unsigned argc)
{
    struct buf head;
    buf_init(&head, blocking->verb_at);
    wire_begin(&head, FRAME_WORDS + 1 + argc);
    wire_put(&head, STR("FCALL"));
    wire_put(&head, str_of(function));
    wire_put(&head, STR("1"));
    wire_put(&head, str_of(blocking->config.prefix));
    put_settings(&head, blocking->node_id);
    wire_put(&head, STR("0")); /* nonces */
    if (head.is_over)
        abort();
    size_t at = blocking->verb_at - head.n;
    memcpy(blocking->wire.at + at, head.at, head.n);
    buf_fini(&head);
    return (struct str){blocking->wire.at + at, blocking->wire.n - at};
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
    struct str wire = finish(blocking, blocking->functions.turn, argc);
    enum err error = blocking_attempt(blocking, wire, 0);
    if (error == ERR_OK) {
        blocking_say_that_it_works(blocking);
        return read_reply(blocking, ret_reply);
    }
    if (error != ERR_STORE_FULL || wire.n > FREEING_MAX_BYTES)
        return error;
    memcpy(error_text, blocking->error, sizeof error_text);
    error = blocking_attempt(blocking, finish(blocking, blocking->functions.turn_freeing, argc), 0);
    if (error == ERR_OK)
        error = read_reply(blocking, ret_reply);
    if (error == ERR_STORE_FULL)
        memcpy(blocking->error, error_text, sizeof error_text);
    return error;
}

/* The owner may call another verb meanwhile: this one is put aside. */
static bool ask_owner(struct blocking_call *call)
{
    struct blocking *blocking = call->blocking;
    struct buf wire = blocking->wire;
    size_t verb_at = blocking->verb_at, argc_at = blocking->argc_at;
    buf_init(&blocking->wire, BLOCKING_WIRE_MAX_BYTES);
    bool goes_on = call->on_full(call);
    buf_fini(&blocking->wire);
    blocking->wire = wire;
    blocking->verb_at = verb_at;
    blocking->argc_at = argc_at;
    return goes_on;
}

static enum err try_until(struct blocking_call *call, unsigned argc)
{
    struct blocking *blocking = call->blocking;
    uint64_t since_ms = clock_mono_ms();
    for (;;) {
        enum err error = attempt(blocking, argc, &call->reply);
        if (error == ERR_STORE_FULL && call->on_full != NULL) {
            if (!ask_owner(call))
                return ERR_STORE_FULL;
            continue;
        }
        if (error != ERR_REDIS_LOST && error != ERR_STORE_FULL)
            return error;
        if (atomic_load(&blocking->is_stopping) || !blocking_pause_between(blocking, since_ms))
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
