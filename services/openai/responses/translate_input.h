/* SPDX-License-Identifier: MIT
 *
 * translate_input: `instructions` and the items of `input` as messages of a chat. What an assistant
 * has thought, said and called one after the other is one message. For translate.c alone.
 */
#ifndef PARLEY_SERVICES_OPENAI_RESPONSES_TRANSLATE_INPUT_H
#define PARLEY_SERVICES_OPENAI_RESPONSES_TRANSLATE_INPUT_H

#include "services/openai/members.h"
#include "services/openai/responses/translate_fault.h"

/* The parameter of the function that a custom tool is in a chat (tools.h). */
#define CUSTOM_INPUT "input"

struct translation {
    struct buf *b;
    struct translate_fault *fault;
    char at[64];       /* the path of what is being translated */
    bool has_logprobs; /* they are wanted */
    /* The lists of the request: its tools (NULL: it has none), and those of them that may be called
     * (`has_allowed`; else all). */
    const struct json_span *tools;
    struct json_span allowed;
    bool has_allowed;
};

/* Sets the path: of a member, or of an item of a list. */
void translate_at(struct translation *t, const char *member);
void translate_at_item(struct translation *t, const char *list, size_t i);
/* Notes the fault, at the path and what follows it. Returns false. */
bool translate_fail(struct translation *t, const char *more, const char *expected);
/* The same of a `type`, which may be absent, or one that cannot be translated. */
bool translate_fail_type(struct translation *t, const char *more, const struct json_span *type,
                         const char *known);
/* Precedes the input: messages of a chat, and then items of a response, both as inside a list. */
struct translate_before {
    struct str messages, items;
};

/* Puts `,"messages":[...]`. All may be NULL. */
bool translate_input(struct translation *t, const struct json_span *instructions,
                     const struct translate_before *before,
                     const struct json_span *input) must_check;

#endif
