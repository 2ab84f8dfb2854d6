/* SPDX-License-Identifier: MIT
 *
 * own_model: a model that a service offers of its own, as `parley/documents`: it makes the question
 * that an engine answers. A service names it in its row (services/node/service.h); the doors of
 * other protocols offer those of their node, so that neither knows the other.
 *
 *     answer = model->start(r, &question, &events, context);
 *     on_asked: follow the query (shared/queue/follow.h); of each piece of its answer
 *         model->put_text(answer, piece, &out);      what the client gets of it
 *     model->put_end(answer, &out, &annotations);    once it is whole
 *     model->cancel(answer);                         in any case, in the request's on_gone
 *
 * All on the loop's thread.
 */
#ifndef PARLEY_ASK_OWN_MODEL_H
#define PARLEY_ASK_OWN_MODEL_H

#include "shared/ask/on_behalf.h"
#include "shared/ask/refusal.h"

enum {
    OWN_TEXTS_MAX = 8,         /* that a model gets to see */
    OWN_QUESTION_CHARS = 4000, /* of one */
};

/* A question, whose texts live as long as the request. */
struct own_question {
    struct on_behalf person;
    /* The texts of the user, the last one first: that is the question. text_n is 1 or more. */
    struct str texts[OWN_TEXTS_MAX];
    unsigned text_n;
    struct str engine_model; /* that answers it; n == 0: any */
    double temperature;      /* below 0: the model's usual one */
    unsigned max_tokens;     /* 0: the engine's own */
    uint64_t deadline_ms;    /* from now */
    struct str grant;        /* struct question_settings */
};

/* An answer under way. A model's own struct begins with it. */
struct own_answer {
    const struct own_model *model;
};

/* None runs before start has returned. Exactly one of on_asked, on_text and on_refused comes first;
 * after on_asked perhaps on_refused; and none after on_text, on_refused or cancel. */
struct own_answer_events {
    /* The query of that topic, with the Seq 1, gives the answer. `topic` is a name that lives as
     * long as the answer. `is_new`: the query was made for it, and has its grant. */
    void (*on_asked)(void *context, struct str topic, bool is_new);
    /* That is the whole answer, and no engine was asked. */
    void (*on_text)(void *context, struct str text);
    /* There will be no answer. */
    void (*on_refused)(void *context, const struct refusal *refusal);
};

struct own_model {
    struct str name; /* of 1 to 64 bytes of ASCII; "<name>:<engine's model>" is the model, too */
    /* The result lives as long as the request. `events` must outlive it. */
    struct own_answer *(*start)(struct request *r, const struct own_question *question,
                                const struct own_answer_events *events, void *context)must_check;
    /* Another claim begins the answer again. */
    void (*restart)(struct own_answer *answer);
    /* Puts what may be shown now, and keeps the rest back. */
    void (*put_text)(struct own_answer *answer, struct str piece, struct buf *out);
    /* Puts the rest of the text, and a JSON list of annotations as OpenAI's messages have them, or
     * nothing if there are none. Call it once after each start or restart at most. */
    void (*put_end)(struct own_answer *answer, struct buf *out, struct buf *annotations);
    /* Ends it. A question that nobody else waits for leaves the queue. Accepts NULL. */
    void (*cancel)(struct own_answer *answer);
};

#endif
