/* SPDX-License-Identifier: MIT
 *
 * stored: a chat completion that is stored, as a verb returns it (lua/queue/kept.lua). Borrows from
 * the reply. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_STORED_H
#define PARLEY_SERVICES_OPENAI_STORED_H

#include "services/openai/completion_id.h"
#include "shared/ask/on_behalf.h"
#include "shared/queue/lines.h"

struct stored {
    struct str asker, metadata, row, text;
};

/* Reads the next one. Returns false if there is none. */
bool stored_next(struct lines *lines, struct stored *ret_stored) must_check;
/* Puts it as its client got it, and its metadata. */
void stored_put(struct buf *b, struct request *r, const struct completion_id *id,
                const struct stored *stored);
/* Gives the person and the completion that the path names. Answers 400 and 404, and returns false.
 */
bool stored_find(struct request *r, struct on_behalf *ret_person,
                 struct completion_id *ret_id) must_check;
/* Reads the parameter `order`. Answers 400 and returns false if it is neither asc nor desc. */
bool stored_order(struct request *r, bool *ret_is_back) must_check;
/* 404 for a completion that is not there, or not theirs. */
void stored_explain_missing(struct request *r);

#endif
