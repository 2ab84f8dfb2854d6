/* SPDX-License-Identifier: MIT
 *
 * assist: the built-in model's replies to the prompts with which Parley prepares an answer from
 * documents: rewrite a question for a search, rank passages, make the agent's plan or choose its
 * next step. Fixed rules over the words of the prompt, so that these features work without a
 * language model. Where a reply has a field for a reason, it says that a rule decided. Pure.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_ASSIST_H
#define PARLEY_SERVICES_ENGINE_MODELS_ASSIST_H

#include "services/engine/models/prompt.h"

/* Puts the JSON object that a prompt of that kind (PROMPT_REWRITE to PROMPT_STEP) asks for. */
void assist_reply(const struct prompt *prompt, struct buf *answer);

#endif
