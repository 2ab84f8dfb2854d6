/* SPDX-License-Identifier: MIT
 *
 * filler: removes from a question, as people type it, the words that say nothing about its subject:
 * greetings, thanks, politeness ("pls", "s'il vous plaît"), and phrases like "can you tell me".
 * Knows the common ones of about twenty languages. Pure functions, any thread.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_FILLER_H
#define PARLEY_SERVICES_ENGINE_MODELS_FILLER_H

#include "shared/base/buf.h"

/* Puts `question` without filler, with each run of white space as one space. A question that is all
 * filler is kept. Linear in the question's bytes. */
void filler_put_without(struct buf *b, struct str question);

#endif
