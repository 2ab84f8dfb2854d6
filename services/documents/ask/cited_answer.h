/* SPDX-License-Identifier: MIT
 *
 * cited_answer: answers a request from the passages that a search found. It sends one question to
 * an engine, checks the marks of the answer, and responds with JSON or with a stream
 * (text/event-stream in /openapi.yaml) that begins with the event `sources`. If nothing was
 * found and the reader selected nothing, it says so and asks no engine. /ask and /api/rag/ask share
 * this module; they differ in the objects that they return (struct cited_answer_format).
 *
 * Embedded in its owner, in the request's memory; the owner's on_gone calls cited_answer_fini.
 * Runs on the loop's thread.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_CITED_ANSWER_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_CITED_ANSWER_H

#include "services/documents/ask/citations.h"
#include "services/documents/ask/cited_question.h"
#include "shared/answer/follow_sse.h"
#include "shared/ask/refusal.h"

struct cited_answer;

/* The response that a format writes. */
struct cited_answer_result {
    struct str answer, model; /* marks are positions in the hits, from 1; model may be empty */
    struct str cut_by;        /* outcome_cut_by: the answer is not complete; or "" */
    bool is_nothing;          /* the answer says that nothing was found */
    uint64_t took_ms;         /* from the question to the answer */
};

struct cited_answer_format {
    /* Puts the JSON response, which is also the data of the event `done`. On one line. */
    void (*put_result)(const struct cited_answer *g, const struct cited_answer_result *result,
                       struct buf *b);
    /* Puts the data of the event `sources`, which is sent before the answer: passages, numbered as
     * the model sees them. */
    void (*put_sources)(const struct cited_answer *g, struct buf *b);
    bool is_llm; /* report errors as llm_refusal.h does */
};

struct cited_answer {
    struct request *r;
    const struct cited_answer_format *format;
    struct cited_question settings;
    struct question *question;
    struct presence presence;
    struct follow_sse sse;
    uint64_t start_us;
    bool is_stream, is_streaming;
};

/* Answers the request, now or later. Overwrites `g`. Texts that it borrows from `settings` must
 * live as long as the request. */
void cited_answer_start(struct cited_answer *g, struct request *r,
                        const struct cited_answer_format *format,
                        const struct cited_question *settings);
/* Accepts a `g` that was zeroed and never started. */
void cited_answer_fini(struct cited_answer *g);

/* Puts the member `finish_reason` after another one, of an answer that is not complete. */
void cited_answer_put_cut(struct buf *b, struct str cut_by);

#endif
