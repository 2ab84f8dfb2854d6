/* SPDX-License-Identifier: MIT
 *
 * references: items of a request's `input` that are only named by their ids, as clients send what
 * earlier responses gave them (`item_reference`). An id says which response its item is in, and
 * where. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_RESPONSES_REFERENCES_H
#define PARLEY_SERVICES_OPENAI_RESPONSES_REFERENCES_H

#include "shared/ask/on_behalf.h"
#include "shared/http/request/request.h"

/* `body`: that of the request with the items in the places of the references, in the request's
 * pool. r->state is what it was. */
typedef void references_cb(struct request *r, struct str body);

/* Returns whether the request's `input` has a reference. */
bool references_are_there(struct request *r);
/* Reads what is referred to, of the person's responses, one after the other, and calls
 * `on_resolved`; or answers what is wrong: 404 for an item that is not there, or not theirs. */
void references_resolve(struct request *r, const struct on_behalf *person,
                        references_cb *on_resolved);

#endif
