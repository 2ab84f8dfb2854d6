/* SPDX-License-Identifier: MIT
 *
 * call: one attempt to reach a bot: a POST to its endpoint, with its caller key and signed as
 * Standard Webhooks describes, or for `parley:MODEL` a question in the queue on behalf of its
 * registrant. Whether and when there is another attempt is up to the owner, who passes the same
 * delivery id again; nothing is stored here.
 *
 * One per attempt, on the loop's thread. The client follows no redirects and checks every address
 * after each look-up (http_client_settings).
 */
#ifndef PARLEY_SERVICES_BOTS_CALL_H
#define PARLEY_SERVICES_BOTS_CALL_H

#include "services/bots/dispatch/answer.h"
#include "services/bots/dispatch/talk.h"

struct bots;
struct bot_call;

enum { BOT_CALL_TIMEOUT_MS = 10000 };

/* A bot as the registry has it (verb bot_find). Borrowed during bot_call_start. */
struct bot_target {
    struct str name;               /* as in keys, with its namespace */
    struct str id;                 /* of this registration: 16 hex digits */
    struct str username, emulates; /* JSON strings */
    struct str endpoint;           /* http://…, https://… or parley:MODEL */
    enum bot_format format;
    struct str account, user; /* its registrant: names */
    uint64_t generation;
    bool has_former; /* the former generation's signature is added: it was rotated within an hour */
    struct str may;  /* be called now: `go`, `rest` or `wait` */
};
/* Reads a reply of bot_find, from which `ret_bot` borrows. False if there is no such bot. */
bool bot_target_read(struct str reply, struct bot_target *ret_bot) must_check;

/* Borrowed during bot_call_start. */
struct bot_call_settings {
    struct bot_target bot;
    struct str delivery; /* `webhook-id`, the same on every attempt; letters, digits, '-' and '_' */
    const struct talk *talk;
    uint64_t timeout_ms;    /* 0: BOT_CALL_TIMEOUT_MS */
    struct str traceparent; /* n == 0: none */
};

enum bot_call_outcome {
    BOT_CALL_REPLIED,
    BOT_CALL_SILENT,   /* no reply is required */
    BOT_CALL_ACCEPTED, /* 202: it answers later by itself */
    BOT_CALL_FAILED,   /* another attempt may succeed: network, time, 429, 5xx, no engine */
    BOT_CALL_REFUSED,  /* another attempt would fail as well: 3xx, 4xx, a bad or huge answer, a
                        * private address */
    BOT_CALL_NO_ROOM,  /* the queue took no question: ask again when it does (bot_vacancy.h) */
    BOT_CALL_NR
};

/* The owner of a question that the queue refused, as names. */
struct bot_refused {
    struct str account, user, model;
    unsigned max_waiting, shard;
};

/* Valid inside the callback only. */
struct bot_call_end {
    enum bot_call_outcome outcome;
    struct str text;   /* of REPLIED: UTF-8, 1 byte to 64 KiB */
    struct str reason; /* of FAILED and REFUSED: for people, to follow the bot's name: "did not
                        * answer within 10 s" */
    uint64_t retry_after_ms;    /* of FAILED: what it asked for; 0: nothing */
    struct bot_refused refused; /* of NO_ROOM */
};

/* Runs once, never inside bot_call_start, and not after bot_call_cancel. The call is freed when it
 * returns. */
typedef void bot_call_end_cb(void *context, const struct bot_call_end *end);

struct bot_call *bot_call_start(struct bots *bots, const struct bot_call_settings *settings,
                                bot_call_end_cb *on_end, void *context) must_check;
/* Ends it without its callback. `is_final`: nobody attempts the same delivery again, so a question
 * in the queue is withdrawn at once. Accepts NULL. */
void bot_call_cancel(struct bot_call *call, bool is_final);

#endif
