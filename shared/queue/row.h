/* SPDX-License-Identifier: MIT
 *
 * row: the part of a query's row that a node writes: its lines 3 to 7, the `tail` of
 * lua/queue/add.lua and ask.lua. lines.h reads whole rows. The caller puts two of the lines itself.
 * A complete tail is
 *
 *     row_put_who(b, user, model);            user, model
 *     buf_put...(b, modifiers);               a JSON object on one line
 *     row_put_trace(b, traceparent, id);      traceparent and request id, or nothing
 *     buf_put...(b, query);                   a JSON string
 *
 * Pure functions, any thread.
 */
#ifndef PARLEY_QUEUE_ROW_H
#define PARLEY_QUEUE_ROW_H

#include "shared/base/buf.h"

/* The user as engines see it, and the model; n == 0: "default". */
void row_put_who(struct buf *b, struct str user, struct str model);
/* The client's header `traceparent` and the id of the request that added the query (X-Request-Id).
 * Each is omitted if absent, longer than 128 bytes or not UTF-8. The line is what follows the key
 * "Traceparent" in an object, so it can be written into a claim as it is: a JSON string or null,
 * and then the member RequestId:
 *
 *     "00-4bf9...-01","RequestId":"n18dd5f2a0761-4"
 */
void row_put_trace(struct buf *b, struct str traceparent, struct str request_id);

#endif
