/* SPDX-License-Identifier: MIT
 * audit.c - GET /api/audit: the audit log for operators, the oldest entry first, page by page
 * (lua/audit/audit_list.lua). */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/base/utc.h"
#include "shared/http/request/explain.h"

enum { LIMIT_MAX = 250, LIMIT = 100, PAGE_MAX_BYTES = 4 << 20 };

static void put_entry(struct buf *b, struct lines *lines, struct str *ret_place)
{
    *ret_place = lines_next(lines);
    uint64_t ms = lines_next_u64(lines);
    struct str class = lines_next(lines), n = lines_next(lines), row = lines_next(lines);
    buf_printf(b, "{\"Id\":\"%.*s\",\"Timestamp\":", STR_ARG(*ret_place));
    buf_put_json_time(b, ms);
    buf_printf(b, ",\"Class\":\"%.*s\"", STR_ARG(class));
    if (n.n > 0)
        buf_printf(b, ",\"Failures\":%.*s", STR_ARG(n));
    buf_put_char(b, ',');
    buf_put(b, row.n > 1 ? (struct str){row.at + 1, row.n - 1} : STR("\"Event\":\"\"}"));
}

static void on_listed(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    bool is_more = lines_next_u64(&lines) != 0;
    struct str place = STR("");
    struct buf b;
    buf_init(&b, PAGE_MAX_BYTES);
    buf_lit(&b, "{\"Events\":[");
    for (unsigned n = 0; lines.rest.n > 0; n++) {
        if (n > 0)
            buf_put_char(&b, ',');
        put_entry(&b, &lines, &place);
    }
    buf_lit(&b, "],\"Next\":");
    if (is_more)
        buf_put_json(&b, place);
    else
        buf_lit(&b, "null");
    buf_put_char(&b, '}');
    respond_json(r, 200, &b);
    buf_fini(&b);
}

/* "<ms>-<n>.<class>" */
static bool is_cursor(struct str text)
{
    uint64_t ms, n, class;
    struct str rest = text, id = str_cut(&rest, '.'), first = str_cut(&id, '-');
    return str_parse_u64(first, &ms) && str_parse_u64(id, &n) && str_parse_u64(rest, &class) &&
           rest.n == 1;
}

void broker_audit(struct request *r)
{
    struct str after = request_param(r, "After"), since = request_param(r, "Since");
    uint64_t limit, since_s = NO_NUMBER;
    if (!request_param_u64(r, "Limit", 1, LIMIT_MAX, LIMIT, &limit))
        return;
    if (after.n > 0 && !is_cursor(after)) {
        (void)explain_param(r, "After", "the Id of an entry, or a page's Next");
        return;
    }
    if (since.n > 0 && !utc_parse(since, &since_s)) {
        (void)explain_param(r, "Since", "a time in UTC, such as 2026-11-24T01:02:03Z");
        return;
    }
    call_audit_list(request_call(r, on_listed), .after = after.at == NULL ? STR("") : after,
                    .since = since_s == NO_NUMBER ? NO_NUMBER : since_s * 1000, .limit = limit);
}
