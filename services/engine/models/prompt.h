/* SPDX-License-Identifier: MIT
 *
 * prompt: what a back end is asked: one query with its conversation and the passages that may be
 * cited. Made from a claim's query, or from `Modifiers.Messages` (OpenAI's form) where the frontend
 * sent a conversation of its own. Borrows from the claim, owns the passages. Single thread.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_PROMPT_H
#define PARLEY_SERVICES_ENGINE_MODELS_PROMPT_H

#include "services/engine/slots/claim.h"

enum { PROMPT_SOURCES_MAX = 20, PROMPT_TERMS_MAX = 64 };

/* What a prompt wants back. All but an answer are JSON objects, known by the members that the
 * prompt names: of a workflow anywhere in it, of Parley's own steps in its system message. */
enum prompt_kind {
    PROMPT_ANSWER,   /* text */
    PROMPT_DECISION, /* {"decision","confidence","reason","output"} */
    PROMPT_REWRITE,  /* {"rewritten_query"} */
    PROMPT_RANKING,  /* {"ranking":[numbers of passages]} */
    PROMPT_PLAN,     /* {"steps":[...]} */
    PROMPT_STEP,     /* {"tool","input","notes"} */
    PROMPT_NR
};

/* A passage that may be cited as [N], N counting from 1. */
struct source {
    char *title, *text;
};

/* A word of the question and how much it says, by its rarity in the documents. */
struct prompt_term {
    uint64_t hash;
    double weight;
};

struct prompt {
    struct str question;     /* the last thing that the user said, without the passages before it */
    struct str said;         /* with them */
    const json_t *messages;  /* the whole conversation, or NULL */
    const json_t *history;   /* earlier exchanges of the topic, unless there are messages */
    const json_t *modifiers; /* NULL: none */
    struct str model;        /* asked for by name; empty: any */
    struct str traceparent;  /* empty: none */
    enum prompt_kind kind;
    bool has_given_sources; /* the messages brought passages of their own */
    struct source sources[PROMPT_SOURCES_MAX];
    size_t source_n;
    struct prompt_term terms[PROMPT_TERMS_MAX]; /* none: weigh by the sources */
    size_t term_n;
    uint64_t searched_documents, searched_passages;
};

void prompt_init(struct prompt *prompt, const struct claim *claim, const struct claim_query *query);
void prompt_fini(struct prompt *prompt);
/* Copies; dropped past the maximum. */
void prompt_add_source(struct prompt *prompt, struct str title, struct str text);
/* Whether the engine's own documents should be searched for it. */
bool prompt_wants_sources(const struct prompt *prompt);

/* Finds passages in a text: blocks that begin with a line "[1] title", "[2] title" and so on. Each
 * runs to the next; the last one to a line "---" or one that begins with "Question:", or the end. A
 * block of a single line is text without a title. Returns what stands behind them, all of the text
 * when there are none. */
struct str prompt_read_sources(struct prompt *prompt, struct str text);

#endif
