/* SPDX-License-Identifier: MIT
 *
 * ask_prompt: what models are asked about documents, as OpenAI's messages: a grounded answer, a
 * question rewritten for a search, passages ranked, the agent's plan and steps. All but the answer
 * want a JSON object, whose members the system message names.
 *
 * Passages are quotations of strangers. Each stands as a block "[N] title" with its text below;
 * nothing in it can look like the beginning of another block, of the question, or like a mark. The
 * user's message ends with a line that begins with "Question:". Pure; texts are UTF-8.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_ASK_PROMPT_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_ASK_PROMPT_H

#include "shared/base/buf.h"

enum {
    ASK_PASSAGES_MAX = 20,
    ASK_PASSAGE_MAX_CHARS = 1500, /* of a passage in a prompt */
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
/* `is_again`: the last reply was no such object. */
void ask_prompt_put_plan(struct buf *b, struct str question, bool is_again);

struct ask_step {
    struct str question;
    const struct str *steps; /* of the plan */
    unsigned step_n;
    const struct str *calls; /* what was done, one line each */
    unsigned call_n, calls_left;
    const struct ask_passage *passages; /* found so far */
    const bool *is_open;                /* these are shown whole, the others by their beginnings */
    unsigned passage_n;
    bool is_again;
};
void ask_prompt_put_step(struct buf *b, const struct ask_step *step);

#endif
