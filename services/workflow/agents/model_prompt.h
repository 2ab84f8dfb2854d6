/* SPDX-License-Identifier: MIT
 *
 * model_prompt: writes the prompt of a model agent, and reads the decision in the reply. The
 * built-in engine reads the same lines (services/engine). Pure functions, any thread.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_MODEL_PROMPT_H
#define PARLEY_SERVICES_WORKFLOW_MODEL_PROMPT_H

#include "services/workflow/agents/agent.h"
#include "shared/base/buf.h"

/* More than a messageBody and a prompt of the workflows file, each byte of them escaped. */
enum { MODEL_PROMPT_MAX_BYTES = 4 << 20, MODEL_REASON_MAX_CHARS = 500 };

/* Puts the list of messages in OpenAI's form. `tables`: of the database, an object; NULL: unknown.
 * `verbs`: a list with commas for the agent that chooses one; n == 0 for all others. */
void model_prompt_put(struct buf *b, const struct agent_task *task, const json_t *tables,
                      struct str verbs);
/* Puts the request's text, as one line: raw_text, else rule_text, else text. */
void model_prompt_put_request(struct buf *b, const json_t *body);

/* A decision. Texts and `output` borrow from `json`. */
struct model_reply {
    json_t *json; /* owned by the caller */
    bool is_yes;
    double confidence;
    struct str reason;
    json_t *output; /* NULL: none */
};

/* Reads a model's reply: one JSON object, alone or in a fence of three backticks. Returns NULL and
 * sets *ret_reply, or returns why it is refused, for people and for the model; static. */
const char *model_reply_read(struct str text, struct model_reply *ret_reply) must_check;

#endif
