/* SPDX-License-Identifier: MIT
 * lines.c - see lines.h. */
#include "shared/queue/lines.h"

#include "shared/base/json_scan.h"

enum { NAME_MAX_BYTES = 4096 };

bool lines_next_part(struct lines *lines, struct str *ret_part)
{
    struct str rest = lines->rest, digits = str_cut(&rest, ':');
    uint64_t n = 0;
    if (rest.at == NULL || !str_parse_u64(digits, &n) || n > rest.n)
        return false;
    *ret_part = (struct str){rest.at, (size_t)n};
    lines->rest = (struct str){rest.at + n, rest.n - (size_t)n};
    return true;
}

struct query_row lines_next_row(struct lines *lines)
{
    struct query_row row = {.created_ms = lines_next_u64(lines)};
    struct str who = lines_next(lines);
    row.account = str_cut(&who, ' ');
    row.user_name = str_cut(&who, ' ');
    row.model_name = str_cut(&who, ' ');
    row.user = lines_next(lines);
    row.model = lines_next(lines);
    row.modifiers = lines_next(lines);
    row.trace = lines_next(lines);
    row.query = lines_next(lines);
    return row;
}

struct str lines_api_of(const struct query_row *row)
{
    struct str model = row->model_name, api = str_cut(&model, '/');
    return model.at == NULL ? STR("") : api;
}

/* A JSON string has no quote without a backslash, so a traceparent cannot contain the key. */
struct str lines_request_id(const struct query_row *row)
{
    static const char key[] = ",\"RequestId\":\"";
    const char *at =
        row->trace.n == 0 ? NULL : memmem(row->trace.at, row->trace.n, key, sizeof key - 1);
    if (at == NULL)
        return (struct str){NULL, 0};
    at += sizeof key - 1;
    struct str id = {at, (size_t)(row->trace.at + row->trace.n - at)};
    if (id.n < 2 || id.at[id.n - 1] != '"' || memchr(id.at, '\\', id.n) != NULL)
        return (struct str){NULL, 0};
    id.n--;
    return id;
}

struct outcome lines_next_outcome(struct lines *lines)
{
    struct outcome o = {.status = lines_next(lines)};
    o.row = lines_next_row(lines);
    struct str first = lines_next(lines);
    if (str_eq(o.status, STR("Done")))
        o.answer = first;
    else
        o.reason = first;
    struct str second = lines_next(lines);
    if (str_eq(o.status, STR("Failed")))
        o.fault = second;
    else
        o.think = second;
    o.model = lines_next(lines);
    o.answered_ms = lines_next_u64(lines);
    struct str by = lines_next(lines);
    (void)str_cut(&by, ' '); /* the account that answered */
    o.facts = by.at == NULL ? STR("") : by;
    return o;
}

struct str outcome_cut_by(const struct outcome *outcome)
{
    static const struct {
        struct str facts, reason;
    } cuts[] = {{STR("\"FinishReason\":\"length\""), STR("length")},
                {STR("\"FinishReason\":\"content_filter\""), STR("content_filter")}};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++)
        if (str_has_prefix(outcome->facts, cuts[i].facts))
            return cuts[i].reason;
    return STR("");
}

void buf_put_json_texts(struct buf *b, struct str list)
{
    struct json_span text, whole = {.kind = JSON_SPAN_LIST, .raw = list};
    struct str rest = list.n < 2 || list.at[0] != '[' ? STR("") : json_list_inside(&whole);
    bool is_first = true;
    while (json_next_item(&rest, &text)) {
        if (text.kind != JSON_SPAN_TEXT)
            continue;
        if (!is_first)
            buf_lit(b, "\n\n");
        is_first = false;
        buf_put_span_text(b, &text);
    }
}

void buf_put_json_text(struct buf *b, struct str json)
{
    if (json.n < 2 || json.at[0] != '"')
        return;
    struct json_span text = {.kind = JSON_SPAN_TEXT,
                             .has_escape = memchr(json.at, '\\', json.n) != NULL,
                             .raw = {json.at + 1, json.n - 2}};
    buf_put_span_text(b, &text);
}

enum work lines_work_of(struct str class_name)
{
    bool is_lookups = class_name.n > 0 && class_name.at[class_name.n - 1] == '?';
    return is_lookups ? WORK_LOOKUPS : WORK_QUERIES;
}

struct claim lines_next_claim(struct lines *lines)
{
    struct claim claim = {.class_name = lines_next(lines)};
    claim.work = lines_work_of(claim.class_name);
    claim.topic = lines_next(lines);
    claim.lease = lines_next(lines);
    claim.attempt = lines_next_u64(lines);
    claim.n = (unsigned)lines_next_u64(lines);
    claim.queries = *lines;
    return claim;
}

void buf_put_json_of_name(struct buf *b, struct str name)
{
    if (memchr(name.at, '%', name.n) == NULL) {
        buf_put_char(b, '"');
        buf_put(b, name);
        buf_put_char(b, '"');
        return;
    }
    struct buf plain;
    struct str inner = lines_name_within(name);
    buf_init(&plain, NAME_MAX_BYTES);
    buf_put(&plain, (struct str){name.at, name.n - inner.n});
    bool is_name = buf_put_unnamed(&plain, inner);
    buf_put_json(b, is_name ? buf_str(&plain) : name);
    buf_fini(&plain);
}

struct str lines_name_within(struct str name)
{
    const char *mark = name.n == 0 ? NULL : memchr(name.at, '~', name.n);
    if (mark == NULL)
        return name;
    size_t n = (size_t)(mark + 1 - name.at);
    return (struct str){mark + 1, name.n - n};
}

struct str lines_namespace_of(struct str name)
{
    struct str inner = lines_name_within(name);
    return (struct str){name.at, inner.n == name.n ? 0 : name.n - inner.n - 1};
}

void buf_put_json_time(struct buf *b, uint64_t ms)
{
    buf_put_char(b, '"');
    buf_put_timestamp(b, ms / 1000);
    buf_lit(b, "Z\"");
}

void buf_put_json_zoneless_time(struct buf *b, uint64_t ms)
{
    buf_put_char(b, '"');
    buf_put_timestamp(b, ms / 1000);
    buf_put_char(b, '"');
}

struct noted lines_noted_of(struct str reply)
{
    struct noted noted = {.lines = lines_of(reply)};
    (void)lines_next(&noted.lines); /* "ok" */
    noted.number = lines_next(&noted.lines);
    noted.next = lines_next(&noted.lines);
    return noted;
}

bool lines_next_noted(struct noted *noted)
{
    if (!lines_are_left(&noted->lines))
        return false;
    noted->seq = lines_next_u64(&noted->lines);
    noted->query = lines_next(&noted->lines);
    noted->before_n = lines_next_u64(&noted->lines);
    noted->n = lines_next_u64(&noted->lines);
    return true;
}
