/* SPDX-License-Identifier: MIT
 * engine_members.c - see engine_members.h. */
#include "services/broker/socket/engine_members.h"

bool engine_members_read(struct engine_members *m, struct str json)
{
    const char *reason;
    size_t at;
    bool is_object;
    m->n = 0;
    if (json_scan_object(json, m->at, ENGINE_MEMBERS_MAX, &m->n, &reason, &at, &is_object) &&
        m->n <= ENGINE_MEMBERS_MAX)
        return true;
    m->n = 0;
    return false;
}

const struct json_span *engine_member(const struct engine_members *m, const char *name)
{
    for (size_t i = m->n; i-- > 0;)
        if (str_eq(m->at[i].name.raw, str_of(name)))
            return &m->at[i].value;
    return NULL;
}

struct str engine_member_raw(const struct engine_members *m, const char *name)
{
    const struct json_span *span = engine_member(m, name);
    bool has_raw = span != NULL && (span->kind == JSON_SPAN_TEXT || span->kind == JSON_SPAN_NUMBER);
    return has_raw ? span->raw : STR("");
}

bool engine_member_u64(const struct engine_members *m, const char *name, uint64_t *ret_value)
{
    const struct json_span *span = engine_member(m, name);
    return span != NULL && span->kind == JSON_SPAN_NUMBER && str_parse_u64(span->raw, ret_value);
}

bool engine_member_is(const struct engine_members *m, const char *name, bool fallback)
{
    const struct json_span *span = engine_member(m, name);
    return span == NULL || span->kind != JSON_SPAN_BOOL ? fallback : str_eq(span->raw, STR("true"));
}
