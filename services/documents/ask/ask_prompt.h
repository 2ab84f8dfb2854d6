/* SPDX-License-Identifier: MIT
 *
 * ask_prompt: builds the prompts about documents, as OpenAI messages. They ask a model to answer
 * with citations, rewrite a question for a search, rank passages, or produce the agent's plan and
 * steps. All except the answer request a JSON object, whose members the system message names.
 *
 * Passages are untrusted text. Each is a block: a line "[N] title", then its text, which is
 * altered so that nothing in it can pass for a mark or for the start of another block or of the
 * question. The user's message ends with a line that begins with "Question:". Pure; texts are
 * UTF-8.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_ASK_PROMPT_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_ASK_PROMPT_H

#include "shared/base/buf.h"

enum {
    ASK_PASSAGES_MAX = 20,
    ASK_PASSAGE_MAX_CHARS = 1500, /* per passage in a prompt */
    ASK_SNIPPET_CHARS = 300,
    ASK_TITLE_MAX_CHARS = 200,
    ASK_PROMPT_MAX_BYTES = 1 << 20,
};

struct ask_passage {
    struct str title, text;
};

/* Each puts a JSON list of messages. `n` is at most ASK_PASSAGES_MAX. */
void ask_prompt_put_answer(struct buf *b, struct str question, struct str context,
                           const struct ask_passage *passages, unsigned n);
void ask_prompt_put_rewrite(struct buf *b, struct str question);
void ask_prompt_put_ranking(struct buf *b, struct str question, const struct ask_passage *passages,
                            unsigned n);
/* `is_again`: the last reply was not such an object. */
void ask_prompt_put_plan(struct buf *b, struct str question, bool is_again);

struct ask_step {
    struct str question;
    const struct str *steps; /* of the plan */
    unsigned step_n;
    const struct str *calls; /* the tool calls so far, one line each */
    unsigned call_n, calls_left;
    const struct ask_passage *passages; /* found so far */
    const bool *is_open;                /* shown in full; of the others only the beginning */
    unsigned passage_n;
    bool is_again;
};
void ask_prompt_put_step(struct buf *b, const struct ask_step *step);

#endif
