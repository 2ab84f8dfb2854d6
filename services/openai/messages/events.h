/* SPDX-License-Identifier: MIT
 *
 * events: the events of /v1/messages, made of the deltas of a chat engine. In their owner; single
 * thread.
 *
 * A message is a row of blocks: thinking, text, a tool_use each. One begins with the first delta of
 * its kind, or of its call, and ends when another one begins.
 */
#ifndef PARLEY_SERVICES_OPENAI_MESSAGES_EVENTS_H
#define PARLEY_SERVICES_OPENAI_MESSAGES_EVENTS_H

#include "services/openai/usage.h"

enum { MESSAGE_EVENT_MAX_BYTES = 9 << 20 };

enum message_block { BLOCK_NONE, BLOCK_TEXT, BLOCK_THINKING, BLOCK_TOOL };

struct message_events {
    /* Gets each event: its name, and its data, which is JSON. */
    void (*put)(void *context, const char *event, const struct buf *data);
    void *context;
    struct usage *usage; /* borrowed; learns the tokens and the bytes of the answer */
    struct buf data;
    enum message_block block; /* the open one */
    uint64_t index;           /* its place in the message, or of the next one */
    uint64_t call; /* of a tool_use: the engine's number plus 1; the last one that began */
    bool has_call;
    char finish[16]; /* as the engine said it; "": not yet */
};

/* `put` and `usage` are borrowed. */
void message_events_init(struct message_events *events,
                         void (*put)(void *context, const char *event, const struct buf *data),
                         void *context, struct usage *usage);
void message_events_fini(struct message_events *events);
/* message_start. `id`: of the message, without characters that JSON escapes. */
void message_events_begin(struct message_events *events, struct str id, struct str model);
/* Gives what a delta has for the client. Returns false if its calls of tools are not in order, so
 * that no event can have them. */
bool message_events_give(struct message_events *events, struct str delta) must_check;
/* The end of the open block, message_delta and message_stop. `finish`: why the model stopped, if no
 * delta said it; n == 0: unknown. */
void message_events_end(struct message_events *events, struct str finish);

#endif
