/* SPDX-License-Identifier: MIT
 *
 * extractive: answers a question with sentences copied from the passages that it is given, each
 * with the mark of its passage, and a list of the sources unless they came with the question. It
 * understands nothing and invents nothing; where no sentence shares enough with the question it
 * says so. The same prompt always gives the same answer. Pure.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_EXTRACTIVE_H
#define PARLEY_SERVICES_ENGINE_MODELS_EXTRACTIVE_H

#include "services/engine/models/prompt.h"

#define EXTRACTIVE_NOTHING "I don't know based on the provided documents."

/* Puts the answer into `answer`, and into `think` how it was found. */
void extractive_answer(const struct prompt *prompt, struct buf *think, struct buf *answer);

#endif
