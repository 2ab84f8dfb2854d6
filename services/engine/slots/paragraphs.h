/* SPDX-License-Identifier: MIT
 *
 * paragraphs: an answer as the list of strings that BossBot's clients show one below the other:
 * each paragraph is an element, and so is the list of sources. Pure, any thread.
 */
#ifndef PARLEY_SERVICES_ENGINE_SLOTS_PARAGRAPHS_H
#define PARLEY_SERVICES_ENGINE_SLOTS_PARAGRAPHS_H

#include "shared/base/buf.h"

/* Puts `text` as a JSON list of its paragraphs, which empty lines part. A block of code between
 * lines of ``` is not cut. Put together with an empty line between, they are the text again, save
 * for white space at its ends and where there were several empty lines. */
void paragraphs_put_json(struct buf *b, struct str text);

#endif
