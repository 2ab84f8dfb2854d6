/* SPDX-License-Identifier: MIT
 *
 * row: the part of a query's row that a node writes: its lines 3 to 7, the `tail` of
 * lua/queue/add.lua and ask.lua. lines.h reads whole rows. The caller puts two of the lines itself.
 * A complete tail is
 *
 *     row_put_who(b, user, model);            user, model
 *     buf_put...(b, modifiers);               a JSON object on one line
 *     row_put_trace(b, traceparent);          traceparent, or nothing
 *     buf_put...(b, query);                   a JSON string
 *
 * Pure functions, any thread.
 */
#ifndef PARLEY_QUEUE_ROW_H
#define PARLEY_QUEUE_ROW_H

#include "shared/base/buf.h"

/* The user as engines see it, and the model; n == 0: "default". */
void row_put_who(struct buf *b, struct str user, struct str model);
/* The client's header `traceparent`. Omitted if absent, longer than 128 bytes or not UTF-8. */
void row_put_trace(struct buf *b, struct str traceparent);

#endif
