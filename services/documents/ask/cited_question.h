/* SPDX-License-Identifier: MIT
 *
 * cited_question: the question that an engine answers from the passages that a search found, whose
 * marks are their numbers. All ways to ask about documents put this one. Questions of one space
 * that give an engine the very same are one query. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_CITED_QUESTION_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_CITED_QUESTION_H

#include "services/documents/ask/ask_prompt.h"
#include "services/documents/search/retrieve.h"

struct cited_question {
    struct requester requester;
    struct str question, context;
    /* At most TOP_K_MAX, in the order of their numbers. The model gets the first `hit_n`. The
     * others fit too badly to be given to it and are shown only when there is no answer. */
    const struct retrieve_hit *const *hits;
    unsigned hit_n, all_n;
    struct str model;     /* that answers; n == 0: any */
    struct str grant;     /* struct question_settings */
    double temperature;   /* below 0: the engine's default */
    unsigned max_tokens;  /* 0: the engine's default */
    uint64_t deadline_ms; /* from now */
};

/* Nothing was found and the reader selected nothing: the answer is CITATIONS_NOTHING, and no engine
 * is asked. */
bool cited_question_is_void(const struct cited_question *q);
/* As question_start does. Borrows `q` during the call only. */
struct question *cited_question_start(const struct cited_question *q, bool is_followed,
                                      const struct question_events *events,
                                      void *context) must_check;

/* Hits in the form that a prompt takes. Texts are borrowed from the hits. */
struct cited_passages {
    struct ask_passage items[TOP_K_MAX];
    struct buf titles;
};
void cited_passages_init(struct cited_passages *passages, const struct retrieve_hit *const *hits,
                         unsigned n);
void cited_passages_fini(struct cited_passages *passages);

#endif
