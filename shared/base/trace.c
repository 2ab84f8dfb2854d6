/* SPDX-License-Identifier: MIT
 * trace.c - see trace.h. */
#include "shared/base/trace.h"

enum { PARENT_BYTES = 55, PARENT_MAX_BYTES = 128 };

bool trace_is_request_id(struct str id)
{
    if (id.n == 0 || id.n > TRACE_REQUEST_ID_MAX)
        return false;
    for (size_t i = 0; i < id.n; i++)
        if (id.at[i] <= ' ' || id.at[i] > '~' || strchr("\"\\<>&", id.at[i]) != NULL)
            return false;
    return true;
}

static bool is_hex(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!((s.at[i] >= '0' && s.at[i] <= '9') || (s.at[i] >= 'a' && s.at[i] <= 'f')))
            return false;
    return true;
}

static bool is_zero(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] != '0')
            return false;
    return true;
}

bool trace_is_parent(struct str t)
{
    if (t.n < PARENT_BYTES || t.n > PARENT_MAX_BYTES || t.at[2] != '-' || t.at[35] != '-' ||
        t.at[52] != '-')
        return false;
    struct str version = {t.at, 2}, span = {t.at + 36, 16}, flags = {t.at + 53, 2};
    if (!is_hex(version) || str_eq(version, STR("ff")) || !is_hex(trace_id_of(t)) ||
        !is_hex(span) || !is_hex(flags) || is_zero(trace_id_of(t)) || is_zero(span))
        return false;
    if (str_eq(version, STR("00")))
        return t.n == PARENT_BYTES;
    /* A later version may add fields after another '-'. */
    for (size_t i = PARENT_BYTES; i < t.n; i++)
        if (t.at[i] <= ' ' || t.at[i] > '~')
            return false;
    return t.n == PARENT_BYTES || t.at[PARENT_BYTES] == '-';
}

struct str trace_id_of(struct str traceparent)
{
    return (struct str){traceparent.at + 3, TRACE_ID_BYTES};
}
