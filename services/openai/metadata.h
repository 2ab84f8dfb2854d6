/* SPDX-License-Identifier: MIT
 *
 * metadata: `metadata` of chat completions that are stored: at most 16 pairs of texts. Redis has
 * them as lines (lua/queue/kept.lua). On the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_METADATA_H
#define PARLEY_SERVICES_OPENAI_METADATA_H

#include "shared/http/request/request.h"

enum { METADATA_PAIRS_MAX = 16 };

/* Gives the lines of the body's member, in the request's pool; absent: those of no pair. Answers
 * 400 and returns false if it is no object of so many pairs, with names of 1 to 64 and texts of at
 * most 512 characters. */
bool metadata_read(struct request *r, struct str *ret_lines) must_check;
/* Gives the lines of the query's parameters `metadata[NAME]`. Answers 400 and returns false if
 * there are too many. */
bool metadata_read_params(struct request *r, struct str *ret_lines) must_check;
/* Puts the object. */
void metadata_put(struct buf *b, struct str lines);

#endif
