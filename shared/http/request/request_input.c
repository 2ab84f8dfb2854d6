/* SPDX-License-Identifier: MIT
 * request_input.c - input that is checked for handlers, which answers 400 itself (request.h): the
 * JSON body, one object that is scanned in place, and numbers. The last member of a name counts. */
#include "shared/http/request/explain.h"

#include <stdio.h>

enum { MEMBERS_USUAL = 12 };

bool request_body(struct request *r)
{
    const char *reason;
    size_t at, most = MEMBERS_USUAL;
    bool is_object;
    if (r->members != NULL)
        return true;
    struct str entity = {r->exchange.h2o->entity.base == NULL ? "" : r->exchange.h2o->entity.base,
                         r->exchange.h2o->entity.len};
    struct json_member *members = request_alloc(r, most * sizeof *members);
    bool ok = json_scan_object(entity, members, most, &r->member_n, &reason, &at, &is_object);
    if (ok && r->member_n > most) {
        most = r->member_n;
        members = request_alloc(r, most * sizeof *members);
        ok = json_scan_object(entity, members, most, &r->member_n, &reason, &at, &is_object);
    }
    if (ok) {
        r->members = members;
        return true;
    }
    if (entity.n == 0)
        explain(r, ERR_BAD_JSON, "The body is empty: it must be a JSON object.");
    else if (str_eq(str_of(reason), STR("it is not an object")))
        explain(r, ERR_BAD_JSON, "The body is JSON, but not an object such as {\"name\": 1}.");
    else
        explain(r, ERR_BAD_JSON, "The body is not valid JSON: %s (at byte %zu).", reason, at);
    return false;
}

static bool refuse_member(struct request *r, const char *name, const char *what, long long min,
                          long long max, const char *unit)
{
    char expected[96];
    snprintf(expected, sizeof expected, "a %s %lld to %lld%s", what, min, max, unit);
    return explain_member(r, name, expected);
}

bool request_text(struct request *r, const char *name, size_t min, size_t max, struct str *ret_text)
{
    struct str text = request_member_text(r, name);
    if (text.at == NULL || text.n < min || text.n > max)
        return refuse_member(r, name, "string of", (long long)min, (long long)max, " bytes");
    *ret_text = text;
    return true;
}

bool request_optional_text(struct request *r, const char *name, size_t max, struct str *ret_text)
{
    *ret_text = (struct str){NULL, 0};
    return request_member(r, name) == NULL || request_text(r, name, 0, max, ret_text);
}

static bool span_integer(const struct json_span *span, int64_t *ret_number)
{
    uint64_t magnitude;
    if (span == NULL || span->kind != JSON_SPAN_NUMBER)
        return false;
    struct str digits = span->raw;
    bool is_negative = digits.at[0] == '-';
    if (is_negative) {
        digits.at++;
        digits.n--;
    }
    if (!str_parse_u64(digits, &magnitude) || magnitude > INT64_MAX)
        return false;
    *ret_number = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

bool request_number(struct request *r, const char *name, int64_t min, int64_t max,
                    int64_t *ret_number)
{
    int64_t number;
    if (!span_integer(request_member(r, name), &number) || number < min || number > max)
        return refuse_member(r, name, "whole number from", min, max, "");
    *ret_number = number;
    return true;
}

bool request_optional_bool(struct request *r, const char *name, bool fallback, bool *ret_value)
{
    const struct json_span *span = request_member(r, name);
    if (span != NULL && span->kind != JSON_SPAN_BOOL)
        return explain_member(r, name, "true or false");
    *ret_value = span == NULL ? fallback : span->raw.at[0] == 't';
    return true;
}

bool request_param_u64(struct request *r, const char *name, uint64_t min, uint64_t max,
                       uint64_t fallback, uint64_t *ret_value)
{
    struct str text = request_param(r, name);
    uint64_t value = fallback;
    if (text.at != NULL && (!str_parse_u64(text, &value) || value < min || value > max)) {
        char expected[80];
        snprintf(expected, sizeof expected, "a whole number from %llu to %llu",
                 (unsigned long long)min, (unsigned long long)max);
        return explain_param(r, name, expected);
    }
    *ret_value = value;
    return true;
}
