/* SPDX-License-Identifier: MIT
 *
 * openai_reply: reads the body of a response of /chat/completions, or of Anthropic's /messages,
 * while it comes: events or one object, whatever its content type says, because servers send both
 * under any type. It passes on text and whole chunks, and knows at the end whether there was an
 * answer and what ended it. Single thread; in its owner's storage.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_OPENAI_REPLY_H
#define PARLEY_SERVICES_ENGINE_MODELS_OPENAI_REPLY_H

#include "services/engine/models/repair.h"
#include "services/engine/models/stream.h"
#include "shared/base/json.h"
#include "shared/http/request/sse.h"

enum { REPLY_REASON_MAX_BYTES = 320, REPLY_FINISH_MAX_BYTES = 64 };

enum reply_form { REPLY_UNKNOWN, REPLY_EVENTS, REPLY_OBJECT };

/* New text; either part may be empty. Return false to stop. */
typedef bool (*reply_callback)(void *context, struct str think, struct str answer);

/* A chunk, or the object: valid JSON that is no error. `is_repaired`: it comes out of repair_json.
 * Return false to stop. */
typedef bool (*reply_chunk_callback)(void *context, const json_t *json, bool is_repaired);

struct openai_reply {
    reply_callback on_text;
    reply_chunk_callback on_chunk; /* NULL: none is wanted */
    void *context;
    bool is_of_messages; /* Anthropic's interface; set it after reply_init */
    enum reply_form form;
    struct sse sse;
    struct buf object; /* of REPLY_OBJECT */
    struct half_join think_half, answer_half;
    struct buf think, answer; /* of one piece, before and after its halves are joined */
    struct buf joined_think, joined_answer;
    struct buf refusal; /* what the model said instead of an answer, on one line */
    char finish[REPLY_FINISH_MAX_BYTES + 1]; /* its finish_reason, on one line; "": none yet */
    uint64_t prompt_tokens, completion_tokens;
    uint64_t chunk_n; /* JSON texts that came */
    bool has_usage, has_choice, has_tools;
    bool has_delta;   /* whole texts are then repetitions */
    bool is_over;     /* [DONE], or message_stop: nothing after it counts */
    bool is_broken;   /* what came cannot be an answer: see `reason` */
    bool is_hopeless; /* and never will for this prompt */
    json_t *error;    /* that the server reported; NULL: none, or not as JSON */
    char reason[REPLY_REASON_MAX_BYTES];
};

/* Callbacks run inside reply_feed and reply_finish; of one chunk, its text comes first. `on_chunk`
 * may be NULL. */
void reply_init(struct openai_reply *reply, reply_callback on_text, reply_chunk_callback on_chunk,
                void *context);
/* Accepts a zeroed one that was never initialised. */
void reply_fini(struct openai_reply *reply);
/* Returns false if no more needs to be read: it is over or broken, or the callback stopped it. */
bool reply_feed(struct openai_reply *reply, struct str bytes) must_check;
/* No more comes, or no more is waited for. `is_complete`: the whole body has come; otherwise what
 * is incomplete of it does not count. */
void reply_finish(struct openai_reply *reply, bool is_complete);
/* Returns whether the text may be complete although more may come. */
bool reply_may_be_whole(const struct openai_reply *reply);
/* Returns whether the server has said that the text is complete. */
bool reply_is_whole(const struct openai_reply *reply);

#endif
