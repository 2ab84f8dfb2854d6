/* SPDX-License-Identifier: MIT
 *
 * openai_piece: reads one object of a response of /chat/completions: a chunk of a stream, or a
 * whole completion. Servers differ in how they write texts, ends and errors; here they become one.
 * Pure, single thread.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_OPENAI_PIECE_H
#define PARLEY_SERVICES_ENGINE_MODELS_OPENAI_PIECE_H

#include "shared/base/buf.h"
#include "shared/base/json.h"

/* Borrowed from the JSON. */
struct openai_piece {
    const json_t *text; /* of the choice that was asked for: its delta or message, or, of
                           /completions, the choice itself; NULL: none */
    bool is_message;    /* the text is the whole one, not what is new of it */
    bool has_choice;
    bool has_tools;     /* the model calls tools */
    struct str finish;  /* its finish_reason; empty: more is to come */
    struct str refusal; /* what the model says instead of an answer */
    bool is_last;       /* nothing of the answer follows */
};
struct openai_piece openai_read_piece(const json_t *json);

/* Puts the texts of a piece: thoughts, and the answer. Either may be parts in a list. A choice of
 * /completions is its own text. */
void openai_put_texts(const json_t *text, struct buf *think, struct buf *answer);

/* Reads the counts of tokens. Returns false if the object has none. */
bool openai_read_usage(const json_t *json, uint64_t *ret_prompt, uint64_t *ret_completion);

/* Returns whether the object reports an error; its text is http_error_message. */
bool openai_is_error(const json_t *json);
/* Returns whether the error is about what the prompt says or how long it is. */
bool openai_is_about_prompt(const json_t *json);
/* Returns whether an error inside a stream says that this prompt will never be accepted. */
bool openai_is_hopeless(const json_t *json);

/* Returns whether a finish_reason says that the server failed: then the text is not an answer. */
bool openai_is_failure(struct str finish);

/* Returns the word of OpenAI's specification for a finish_reason, which clients check. Servers have
 * words of their own, most of them for `stop`. */
const char *openai_known_finish(struct str finish);

#endif
