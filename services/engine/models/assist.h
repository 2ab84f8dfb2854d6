/* SPDX-License-Identifier: MIT
 *
 * assist: the built-in model's answer to the prompts with which Parley itself prepares an answer
 * over documents: a question to be rewritten for a search, passages to be ranked, the agent's plan
 * and its next step. Fixed rules over the words at hand, so that all of it works without a language
 * model; whatever has a place for it says that a rule decided. Pure.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_ASSIST_H
#define PARLEY_SERVICES_ENGINE_MODELS_ASSIST_H

#include "services/engine/models/prompt.h"

/* Puts the JSON object that a prompt of that kind (PROMPT_REWRITE to PROMPT_STEP) asks for. */
void assist_reply(const struct prompt *prompt, struct buf *answer);

#endif
