/* SPDX-License-Identifier: MIT
 *
 * halves: splits a question that asks several things at once: "How long does a lease last, and who
 * renews it? Where is it stored?" Knows the question words of some European languages, and the
 * question marks of all scripts. Pure functions, any thread.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_HALVES_H
#define PARLEY_SERVICES_ENGINE_MODELS_HALVES_H

#include "shared/base/str.h"

/* As many as an agent has tool calls, less one to open a passage. */
enum { HALVES_MAX = 4 };

/* Returns the number of parts, at least 1, and their texts, borrowed from `question`. The only part
 * is the question itself if it asks one thing or is longer than 8 KiB. Each part has a word to look
 * for. Linear in its bytes. */
size_t halves_of(struct str question, struct str ret_halves[HALVES_MAX]);

#endif
