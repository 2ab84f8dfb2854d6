/* SPDX-License-Identifier: MIT
 * members.c - see members.h. */
#include "services/openai/members.h"

bool members_read(struct members *members, struct str json)
{
    const char *reason;
    size_t at;
    bool is_object;
    members->n = 0;
    if (!json_scan_object(json, members->at, MEMBERS_MAX, &members->n, &reason, &at, &is_object)) {
        members->n = 0;
        return false;
    }
    if (members->n > MEMBERS_MAX)
        members->n = MEMBERS_MAX;
    return true;
}

const struct json_span *members_get(const struct members *members, const char *name)
{
    for (size_t i = members->n; i-- > 0;)
        if (str_eq(members->at[i].name.raw, str_of(name)))
            return members->at[i].value.kind == JSON_SPAN_NULL ? NULL : &members->at[i].value;
    return NULL;
}

const struct json_span *members_get_kind(const struct members *members, const char *name,
                                         enum json_kind kind)
{
    const struct json_span *value = members_get(members, name);
    return value != NULL && value->kind == kind ? value : NULL;
}

uint64_t members_u64(const struct members *members, const char *name, uint64_t fallback)
{
    const struct json_span *value = members_get_kind(members, name, JSON_SPAN_NUMBER);
    uint64_t number;
    return value != NULL && str_parse_u64(value->raw, &number) ? number : fallback;
}

void members_put_span(struct buf *b, const struct json_span *value)
{
    bool is_text = value->kind == JSON_SPAN_TEXT;
    if (is_text)
        buf_put_char(b, '"');
    buf_put(b, value->raw);
    if (is_text)
        buf_put_char(b, '"');
}
