/* SPDX-License-Identifier: MIT
 * sync_verb.c - see sync.h: verbs of the function library, each as a turn of its own.
 *
 * A verb is written once, after a gap. How many words the command has and which function it calls
 * is known later, and is put into the gap, right before the verb: so a verb that is tried again, or
 * goes to the function that runs while Redis is full (library.h), is not written again. A large one
 * does not go there: it stores, and would be refused, too. */
#include "shared/redis/sync_internal.h"

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

struct buf *sync_verb_begin(struct sync_call *call, const struct verb_info *verb)
{
    struct sync *sync = call->sync;
    struct buf *wire = &sync->wire;
    buf_clear(wire);
    sync->verb_at = HEAD_BYTES + strlen(sync->config.prefix);
    char *gap = buf_reserve(wire, sync->verb_at);
    if (gap == NULL)
        abort();
    wire->n += sync->verb_at;
    wire_put(wire, verb->name);
    buf_lit(wire, "$6\r\n");
    sync->argc_at = wire->n;
    buf_lit(wire, "000000\r\n");
    sync->nonce_argc = verb->takes_nonce;
    if (verb->takes_nonce)
        wire_put(wire, STR("0"));
    return wire;
}

static void put_argc(struct sync *sync, unsigned argc)
{
    char *digits = sync->wire.at + sync->argc_at;
    for (int i = ARGC_DIGITS - 1; i >= 0; i--, argc /= 10)
        digits[i] = (char)('0' + argc % 10);
    if (argc > 0)
        abort();
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
static struct str finish(struct sync *sync, const char *function, unsigned argc)
{
    struct buf head;
    buf_init(&head, sync->verb_at);
    wire_begin(&head, FRAME_WORDS + 2 + argc);
    wire_put(&head, STR("FCALL"));
    wire_put(&head, str_of(function));
    wire_put(&head, STR("1"));
    wire_put(&head, str_of(sync->config.prefix));
    put_settings(&head, sync->node_id);
    wire_put(&head, STR("0")); /* nonces */
    if (head.is_over)
        abort();
    size_t at = sync->verb_at - head.n;
    memcpy(sync->wire.at + at, head.at, head.n);
    buf_fini(&head);
    return (struct str){sync->wire.at + at, sync->wire.n - at};
}

/* The verb's own part of the reply. */
static enum err read_reply(struct sync *sync, struct str *ret_reply)
{
    if (sync->reply->type != REDIS_REPLY_ARRAY || sync->reply->elements == 0) {
        sync_set_error(sync, "no list");
        return ERR_INTERNAL;
    }
    const redisReply *first = sync->reply->element[0];
    if (first->type == REDIS_REPLY_ERROR && redis_verb_is_refused(first->str))
        return ERR_STORE_FULL; /* sync->error has Redis's own words */
    if (first->type != REDIS_REPLY_STRING) {
        sync_set_error(sync, first->type == REDIS_REPLY_ERROR ? first->str : "no string");
        return ERR_INTERNAL;
    }
    *ret_reply = parts_text(sync->reply, 0, &sync->joined);
    return ERR_OK;
}

static enum err attempt(struct sync *sync, unsigned argc, struct str *ret_reply)
{
    char error_text[SYNC_ERROR_BYTES];
    struct str wire = finish(sync, sync->functions.turn, argc);
    enum err error = sync_attempt(sync, wire, 0);
    if (error == ERR_OK) {
        sync_say_that_it_works(sync);
        return read_reply(sync, ret_reply);
    }
    if (error != ERR_STORE_FULL || wire.n > FREEING_MAX_BYTES)
        return error;
    memcpy(error_text, sync->error, sizeof error_text);
    error = sync_attempt(sync, finish(sync, sync->functions.turn_freeing, argc), 0);
    if (error == ERR_OK)
        error = read_reply(sync, ret_reply);
    if (error == ERR_STORE_FULL)
        memcpy(sync->error, error_text, sizeof error_text);
    return error;
}

/* The owner may call another verb meanwhile: this one is put aside. */
static bool ask_owner(struct sync_call *call)
{
    struct sync *sync = call->sync;
    struct buf wire = sync->wire;
    size_t verb_at = sync->verb_at, argc_at = sync->argc_at;
    buf_init(&sync->wire, SYNC_WIRE_MAX_BYTES);
    bool goes_on = call->on_full(call);
    buf_fini(&sync->wire);
    sync->wire = wire;
    sync->verb_at = verb_at;
    sync->argc_at = argc_at;
    return goes_on;
}

static enum err try_until(struct sync_call *call, unsigned argc)
{
    struct sync *sync = call->sync;
    uint64_t since_ms = clock_mono_ms();
    for (;;) {
        enum err error = attempt(sync, argc, &call->reply);
        if (error == ERR_STORE_FULL && call->on_full != NULL) {
            if (!ask_owner(call))
                return ERR_STORE_FULL;
            continue;
        }
        if (error != ERR_REDIS_LOST && error != ERR_STORE_FULL)
            return error;
        if (atomic_load(&sync->is_stopping) || !sync_pause_between(sync, since_ms))
            return ERR_REDIS_LOST;
    }
}

void sync_verb_end(struct sync_call *call, unsigned argc)
{
    struct sync *sync = call->sync;
    argc += sync->nonce_argc;
    if (call->error != ERR_OK)
        return;
    if (sync->wire.is_over) {
        sync_set_error(sync, "the call is too large");
        call->error = ERR_INTERNAL;
    } else {
        put_argc(sync, argc);
        call->error = try_until(call, argc);
    }
    if (call->error == ERR_OK || call->error == ERR_REDIS_LOST || call->error == ERR_STORE_FULL)
        return;
    call->error = ERR_INTERNAL;
    if (!sync->config.is_quiet)
        log_write(LOG_ERROR, "a verb failed", LOG_S("error", sync->error));
}
