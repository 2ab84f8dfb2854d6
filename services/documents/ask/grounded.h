/* SPDX-License-Identifier: MIT
 *
 * grounded: answers a request from the passages that a search found: one question to an engine, its
 * answer with checked marks, as JSON or as a stream (contract, section 7) that begins with the
 * event `sources`. Where nothing was found it says so and asks no engine. What /ask and
 * /api/rag/ask share; they differ in the objects that they show (struct grounded_format).
 *
 * Lives in its owner, in the request's memory; the owner's on_gone calls grounded_fini. On the
 * loop's thread.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_GROUNDED_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_GROUNDED_H

#include "services/documents/ask/ask_prompt.h"
#include "services/documents/ask/citations.h"
#include "services/documents/search/retrieve.h"
#include "shared/answer/follow_sse.h"
#include "shared/ask/refusal.h"

struct grounded;

/* What is shown. */
struct grounded_result {
    struct str answer, model;   /* model may be empty */
    struct citations citations; /* of passages, counted from 1; none where nothing was found */
    bool is_nothing;            /* the answer says that nothing was found */
    uint64_t took_ms;           /* from the question to the answer */
};

struct grounded_format {
    /* The plain answer, and the data of `done`. On one line. */
    void (*put_result)(const struct grounded *g, const struct grounded_result *result,
                       struct buf *b);
    /* The data of `sources`, before there is an answer: passages numbered as the model sees them.
     */
    void (*put_sources)(const struct grounded *g, struct buf *b);
    bool is_llm; /* errors in the words of section 5, see llm_refusal.h */
};

/* Borrowed by grounded_start for as long as the request lives. */
struct grounded_settings {
    struct asker asker;
    struct str question, context;
    const struct retrieve_hit *const *hits; /* at most TOP_K_MAX, in the order of their numbers */
    unsigned hit_n;
    double temperature;   /* below 0: the engine's own */
    unsigned max_tokens;  /* 0: the engine's own */
    uint64_t deadline_ms; /* from now */
};

struct grounded {
    struct request *r;
    const struct grounded_format *format;
    struct grounded_settings settings;
    struct question *question;
    struct presence presence;
    struct follow_sse sse;
    uint64_t start_us;
    bool is_stream, is_streaming;
};

/* `g` and `settings` are overwritten. Answers the request, now or later. */
void grounded_start(struct grounded *g, struct request *r, const struct grounded_format *format,
                    const struct grounded_settings *settings);
/* Accepts one that was zeroed and never started. */
void grounded_fini(struct grounded *g);

/* The passages in the order in which marks name them: those that are cited, then the others.
 * ret_order[0] is the passage, counted from 0, that [1] names; it has room for all hits. */
void grounded_order(const struct grounded *g, const struct citations *citations,
                    unsigned *ret_order);

/* Hits as a prompt takes them. Texts are the hits' own. */
struct grounded_passages {
    struct ask_passage items[TOP_K_MAX];
    struct buf titles;
};
void grounded_passages_init(struct grounded_passages *passages,
                            const struct retrieve_hit *const *hits, unsigned n);
void grounded_passages_fini(struct grounded_passages *passages);

#endif
