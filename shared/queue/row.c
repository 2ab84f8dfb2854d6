/* SPDX-License-Identifier: MIT
 * row.c - see row.h. */
#include "shared/queue/row.h"

enum { TRACE_MAX_BYTES = 128 };

static bool fits(struct str text)
{
    return text.n > 0 && text.n <= TRACE_MAX_BYTES && str_is_utf8(text);
}

void row_put_who(struct buf *b, struct str user, struct str model)
{
    buf_put_json(b, user);
    buf_put_char(b, '\n');
    buf_put_json(b, model.n > 0 ? model : STR("default"));
    buf_put_char(b, '\n');
}

void row_put_trace(struct buf *b, struct str traceparent, struct str request_id)
{
    bool has_id = fits(request_id);
    buf_put_char(b, '\n');
    if (fits(traceparent))
        buf_put_json(b, traceparent);
    else if (has_id)
        buf_lit(b, "null");
    if (has_id) {
        buf_put_key(b, "RequestId");
        buf_put_json(b, request_id);
    }
    buf_put_char(b, '\n');
}
