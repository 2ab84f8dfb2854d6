/* SPDX-License-Identifier: MIT
 *
 * row: the part of a query's row that a node writes: its lines 3 to 7, the `tail` of
 * lua/queue/add.lua and ask.lua. lines.h reads whole rows. Two of the lines are put by the caller,
 * who has them in its own form; whole, a tail is
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

/* Whose query it is, as engines see it, and for which model; n == 0: "default". */
void row_put_who(struct buf *b, struct str user, struct str model);
/* The client's header `traceparent`. One that is absent, longer than 128 bytes or not UTF-8 is
 * left out. */
void row_put_trace(struct buf *b, struct str traceparent);

#endif
