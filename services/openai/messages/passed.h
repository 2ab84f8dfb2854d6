/* SPDX-License-Identifier: MIT
 *
 * passed: the answer of an engine that serves /v1/messages itself (ADR 102). Its deltas are events
 * as Anthropic has them: message_start, those of blocks, message_delta. Those of blocks reach the
 * client as they came; the message around them is the node's. In its owner; single thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_MESSAGES_PASSED_H
#define PARLEY_SERVICES_OPENAI_MESSAGES_PASSED_H

#include "services/openai/usage.h"

struct passed_block;

struct passed {
    bool is_whole; /* blocks are put together, for an answer in one piece */
    bool is_used;  /* an event has come */
    bool is_open;  /* the last block has not ended */
    uint64_t block_n;
    struct passed_block *blocks; /* of an answer in one piece */
    struct buf start;            /* the message of message_start; n == 0: it has not come */
    struct buf end;              /* the last message_delta; likewise */
    size_t text_bytes;           /* for an estimate of tokens */
};

enum passed_part {
    PASSED_NOTHING, /* for the client of a stream */
    PASSED_SHOWN,   /* as it came */
    PASSED_WRONG,   /* it is no event, or has no place here */
};

void passed_init(struct passed *passed, bool is_whole);
void passed_fini(struct passed *passed);
/* Forgets what has come: its claim has ended. */
void passed_clear(struct passed *passed);

/* Returns whether a delta is an event rather than a chunk of a chat. `ret_event`: its members,
 * borrowed from it. */
bool passed_is_event(struct str delta, struct members *ret_event);
/* Takes an event, `json` with these members. *ret_name: its name, if it is to be shown. */
enum passed_part passed_take(struct passed *passed, struct str json, const struct members *event,
                             const char **ret_name) must_check;

/* Puts the data of message_start. `usage`: what is known or estimated where the engine has not said
 * it yet. */
void passed_put_start(const struct passed *passed, struct buf *b, struct str id, struct str model,
                      const struct usage *usage);
/* Puts the data of message_delta. `finish`: why the model stopped, if no event said it. */
void passed_put_end(const struct passed *passed, struct buf *b, struct str finish,
                    const struct usage *usage);
/* Puts the message in one piece. */
void passed_put_whole(const struct passed *passed, struct buf *b, struct str id, struct str model,
                      struct str finish, const struct usage *usage);

#endif
