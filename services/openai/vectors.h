/* SPDX-License-Identifier: MIT
 *
 * vectors: embeddings as engines send them, in the form that the client has asked for. Pure, any
 * thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_VECTORS_H
#define PARLEY_SERVICES_OPENAI_VECTORS_H

#include "services/openai/members.h"

/* Puts the objects of a list without its brackets: each with its index and its vector, which is a
 * list of numbers or, `is_base64`, the little-endian bytes of its floats. Returns how many; objects
 * without a vector are left out. */
size_t vectors_put(struct buf *b, struct str items, bool is_base64);

#endif
