/* SPDX-License-Identifier: MIT
 *
 * rules: the built-in model's answer to workflow prompts, which ask for a JSON object
 * {"decision","confidence","reason","output"}. Fixed rules, so that a workflow can be tried without
 * a language model: the same prompt gives the same answer, every reason says that a rule decided,
 * and a "no" says what would help. A rule names only tables and columns that the prompt lists, and
 * where it does not understand a word of the request, it decides "no" instead of guessing. Pure.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_RULES_H
#define PARLEY_SERVICES_ENGINE_MODELS_RULES_H

#include "shared/base/buf.h"

/* Puts the object. `task` is the system message, which may be empty. `prompt` is the user's: either
 * the lines "Agent:", "Verb:", "Tables:", "Correction:", "Body:" and "Request:" of a run's step
 * (docs/handbook, workflow files), or any text, whose request follows the last "Request:" at the
 * start of a line, or is all of it. */
void rules_decide(struct str task, struct str prompt, struct buf *answer);

#endif
