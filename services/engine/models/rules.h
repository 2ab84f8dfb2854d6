/* SPDX-License-Identifier: MIT
 *
 * rules: the built-in model's answer to workflow prompts, which ask for a JSON object
 * {"decision","confidence","reason","output"}. A handful of fixed rules, so that a workflow can be
 * tried without a language model; every reason says that a rule decided. Pure.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_RULES_H
#define PARLEY_SERVICES_ENGINE_MODELS_RULES_H

#include "shared/base/buf.h"

/* Puts the object. The request is what follows the last line that is "Request:", or begins with
 * it; without one the whole prompt. */
void rules_decide(struct str prompt, struct buf *answer);

#endif
