/* SPDX-License-Identifier: MIT
 * deltas.c - reads the member Deltas of an engine's partial answer or answer to a query of a door
 * (lua/queue/pieces.lua). */
#include "services/broker/broker.h"

#include "shared/http/request/explain.h"
#include "shared/queue/delta.h"

/* One JSON object on one line. */
static bool is_delta(struct str text)
{
    struct json_member member;
    const char *reason;
    size_t n, at;
    bool is_object;
    return text.n > 0 && memchr(text.at, '\n', text.n) == NULL &&
           json_scan_object(text, &member, 1, &n, &reason, &at, &is_object);
}

bool deltas_put(struct buf *b, struct request *r, bool *ret_is_more)
{
    struct str text;
    const struct json_span *deltas = request_member(r, "Deltas");
    struct json_span item;
    bool is_good = deltas == NULL || deltas->kind == JSON_SPAN_LIST;
    size_t start = b->n;
    *ret_is_more = false;
    if (deltas == NULL)
        return true;
    for (struct str rest = json_list_inside(deltas); is_good && json_next_item(&rest, &item);) {
        if (b->n > start)
            buf_put_char(b, '\n');
        size_t from = b->n;
        if (item.kind == JSON_SPAN_TEXT)
            buf_put_span_text(b, &item);
        struct str delta = {b->at + from, b->n - from};
        is_good = item.kind == JSON_SPAN_TEXT && !b->is_over && is_delta(delta);
        *ret_is_more |= is_good && !delta_read_text(delta, &text);
    }
    return is_good ||
           explain_member(r, "Deltas", "a list of strings, each a JSON object on one line");
}
