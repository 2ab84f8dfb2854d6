/* SPDX-License-Identifier: MIT
 *
 * repair: makes JSON valid that a model wrote and a parser refuses. A server that cuts its text by
 * UTF-16 units sends one half of a character at the end of an event and the other at the start of
 * the next one, each as an escape; others send \u0000, raw control characters or bytes that are not
 * UTF-8. Only JSON that was refused is repaired. Pure, single thread.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_REPAIR_H
#define PARLEY_SERVICES_ENGINE_MODELS_REPAIR_H

#include "shared/base/buf.h"

/* Puts `json` with what a parser refuses inside strings replaced: raw control characters by their
 * escapes, NUL and bytes that are not UTF-8 by U+FFFD, and each lone half of a surrogate pair by a
 * mark for half_join. */
void repair_json(struct buf *b, struct str json);

/* Joins the halves that repair_json has marked, over the pieces of one text. Zeroed at the start.
 */
struct half_join {
    uint32_t high; /* the half that waits for the next piece; 0: none */
};

/* Puts `text` with its marks joined to characters; halves without the other one become U+FFFD.
 * `has_marks`: the text comes out of repaired JSON. */
void half_join_feed(struct half_join *join, struct str text, bool has_marks, struct buf *out);
/* Puts what was held back. */
void half_join_finish(struct half_join *join, struct buf *out);

#endif
