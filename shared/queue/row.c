/* SPDX-License-Identifier: MIT
 * row.c - see row.h. */
#include "shared/queue/row.h"

enum { TRACE_MAX_BYTES = 128 };

void row_put_who(struct buf *b, struct str user, struct str model)
{
    buf_put_json(b, user);
    buf_put_char(b, '\n');
    buf_put_json(b, model.n > 0 ? model : STR("default"));
    buf_put_char(b, '\n');
}

void row_put_trace(struct buf *b, struct str traceparent)
{
    buf_put_char(b, '\n');
    if (traceparent.n > 0 && traceparent.n <= TRACE_MAX_BYTES && str_is_utf8(traceparent))
        buf_put_json(b, traceparent);
    buf_put_char(b, '\n');
}
