/* SPDX-License-Identifier: MIT
 *
 * events_item: an item of a response, and its JSON. For events.c alone. Pure, any thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_RESPONSES_EVENTS_ITEM_H
#define PARLEY_SERVICES_OPENAI_RESPONSES_EVENTS_ITEM_H

#include "services/openai/usage.h"

enum events_kind { ITEM_REASONING, ITEM_MESSAGE, ITEM_CALL };

/* A message may have a text and a refusal, the text first. */
enum events_part { PART_REASONING, PART_TEXT, PART_REFUSAL };

struct events_item {
    enum events_kind kind;
    bool has_text, has_refusal; /* of a message: the part has begun */
    bool is_text_done, is_done;
    bool is_added;            /* of a call: its name is known */
    bool is_custom;           /* of one: its tool takes a text */
    bool is_wrapped;          /* and `text` is JSON that has it, until the call ends */
    uint64_t call_index;      /* as the engine numbers it */
    struct buf text;          /* escaped, as all: text, thought, or arguments */
    struct buf refusal;       /* of a message */
    struct buf name, call_id; /* of a call */
    struct str namespace;     /* of its function, borrowed; n == 0: none */
    struct buf logprobs;      /* of the text, a comma between them */
    struct buf annotations;   /* the same */
    size_t annotation_n;
};

void events_item_init(struct events_item *item, enum events_kind kind);
void events_item_fini(struct events_item *item);
/* Puts `"<prefix><id>_<index>"`. `id`: of the response, without its prefix. */
void events_item_put_id(struct buf *b, const struct events_item *item, struct str id, size_t index);
void events_item_put_part(struct buf *b, const struct events_item *item, enum events_part part,
                          bool is_empty);
/* Puts the item. `is_empty`: as it begins. */
void events_item_put(struct buf *b, const struct events_item *item, struct str id, size_t index,
                     const char *status, bool is_empty);
/* Puts the logprobs of a chat as those of a response, a comma between them. */
void events_put_logprobs(struct buf *b, const struct json_span *list);
/* Puts an annotation of a chat as that of a response. Returns false if it is none. */
bool events_put_annotation(struct buf *b, struct str json) must_check;
/* Puts the usage of a response. */
void events_put_usage(struct buf *b, const struct usage *usage);

#endif
