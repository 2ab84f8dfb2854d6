/* SPDX-License-Identifier: MIT
 *
 * whole: a message of /v1/messages in one piece, made of the answer of a chat engine; and the parts
 * that it shares with a stream (events.h) and with messages of other engines (passed.h). Pure, any
 * thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_MESSAGES_WHOLE_H
#define PARLEY_SERVICES_OPENAI_MESSAGES_WHOLE_H

#include "services/openai/usage.h"

/* Puts a message in one piece. `answer`: a chat completion of one choice. Returns false if it has
 * none. */
bool message_put_whole(struct buf *b, struct str id, struct str model,
                       struct str answer) must_check;

/* Puts `{"id":...,"type":...,"role":...,"model":...`. `id`: without characters that JSON escapes.
 */
void message_put_head(struct buf *b, struct str id, struct str model);
/* Puts input_tokens and output_tokens as an object. */
void message_put_usage(struct buf *b, const struct usage *usage);
/* Puts a block of a call of a tool up to its input. `index`: names it if it has no id. */
void message_put_call_head(struct buf *b, const struct members *call,
                           const struct members *function, uint64_t index);
/* Puts the input of a call: the object that the text `arguments` is; NULL: an empty one. */
void message_put_input(struct buf *b, const struct json_span *arguments);

/* The word for why the model stopped. `finish`: that of a chat; n == 0: unknown. */
const char *message_stop_reason(struct str finish, bool has_call);
/* A text that is not empty, or NULL. */
const struct json_span *message_text_of(const struct members *members, const char *name);
/* Returns the text of the thoughts, which has one of two names, or NULL. */
const struct json_span *message_reasoning_of(const struct members *delta);

#endif
