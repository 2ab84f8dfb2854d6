/* SPDX-License-Identifier: MIT
 *
 * prompt: the input of a back end: one query with its conversation and the passages that the answer
 * may cite. Built from a claim's query, or from `Modifiers.Messages` (OpenAI's form) if the
 * frontend sent a conversation of its own. Borrows from the claim, owns the passages. Single
 * thread.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_PROMPT_H
#define PARLEY_SERVICES_ENGINE_MODELS_PROMPT_H

#include "services/engine/models/api.h"
#include "services/engine/slots/claim.h"

enum { PROMPT_SOURCES_MAX = 20, PROMPT_TERMS_MAX = 64 };

/* The kinds of requests in prompts. All except an answer are JSON objects, recognized by the
 * members that the prompt names: those of a workflow anywhere in it, before all others, because an
 * agent's prompt is the text of a user; those of Parley's own steps in its system message. */
enum prompt_kind {
    PROMPT_ANSWER,   /* text */
    PROMPT_DECISION, /* {"decision","confidence","reason","output"} */
    PROMPT_REWRITE,  /* {"rewritten_query"} */
    PROMPT_RANKING,  /* {"ranking":[numbers of passages]} */
    PROMPT_PLAN,     /* {"steps":[...]} */
    PROMPT_STEP,     /* {"tool","input","notes"} */
    PROMPT_NR
};

/* A recommendation of a user, as a source (services/engine/notes.h). */
struct prompt_note {
    struct str title, question, text;
    struct str fragment;   /* the piece of an answer that the note is about */
    const char *complaint; /* about a fragment for which the user gave no better text; else NULL */
    bool is_correction;    /* the fragment is wrong */
};

/* A passage that may be cited as [N], N counting from 1. */
struct source {
    char *title, *text;
    bool is_note; /* a recommendation, with the members below; otherwise they are "" */
    char *question, *fragment;
    const char *complaint;
    bool is_correction;
};

/* A word of the question and its weight, by its rarity in the documents. */
struct prompt_term {
    uint64_t hash;
    double weight;
};

struct prompt {
    struct str question;     /* the user's last message, without the passages before it */
    struct str said;         /* the same with the passages */
    struct str task;         /* of a workflow's prompt: its system message; or empty */
    struct str marked;       /* what the reader selected and may be asking about; or empty */
    const json_t *messages;  /* the whole conversation, or NULL */
    const json_t *history;   /* earlier exchanges of the topic, if `messages` is NULL */
    const json_t *modifiers; /* NULL: none */
    struct str model;        /* the requested model; empty: any */
    struct str traceparent;  /* empty: none */
    struct str request_id;   /* X-Request-Id of the request that added it; empty: unknown */
    enum api api;         /* NONE: the members below are empty; NR: none that this engine knows */
    struct str request;   /* of a client of a door, JSON */
    struct str continued; /* the text that another engine has begun and this one continues */
    uint64_t offset;      /* of the deltas that were sent before */
    json_t *read;         /* the request, if it was read */
    enum prompt_kind kind;
    bool has_given_sources; /* the messages contain passages */
    struct source sources[PROMPT_SOURCES_MAX];
    size_t source_n;
    struct prompt_term terms[PROMPT_TERMS_MAX]; /* none: weight words by the sources */
    size_t term_n;
    uint64_t searched_documents, searched_passages;
};

void prompt_init(struct prompt *prompt, const struct claim *claim, const struct claim_query *query);
void prompt_fini(struct prompt *prompt);
/* Copies its arguments. Does nothing when there are PROMPT_SOURCES_MAX sources. */
void prompt_add_source(struct prompt *prompt, struct str title, struct str text);
void prompt_add_note(struct prompt *prompt, const struct prompt_note *note);
/* Takes the messages of a request of API_CHAT for the prompt's. Returns false if it has none. */
bool prompt_read_request(struct prompt *prompt) must_check;
/* Returns whether the engine's own documents should be searched for it. */
bool prompt_wants_sources(const struct prompt *prompt);

/* Finds passages in a text: blocks that begin with a line "[1] title", "[2] title" and so on. Each
 * ends at the next; the last one ends at a line "---", at a line that begins with "Question:", or
 * at the end. A block of a single line is text without a title. Returns the text after the blocks,
 * or all of the text if there are none. */
struct str prompt_read_sources(struct prompt *prompt, struct str text);

#endif
