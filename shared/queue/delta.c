/* SPDX-License-Identifier: MIT
 * delta.c - see delta.h. */
#include "shared/queue/delta.h"

#include "shared/queue/piece.h"

enum { MEMBERS_MAX = 32 };

struct members {
    struct json_member at[MEMBERS_MAX];
    size_t n;
};

static bool read(struct members *members, struct str json)
{
    const char *reason;
    size_t at;
    bool is_object;
    return json_scan_object(json, members->at, MEMBERS_MAX, &members->n, &reason, &at,
                            &is_object) &&
           members->n <= MEMBERS_MAX;
}

static bool is_named(const struct json_member *member, const char *name)
{
    return str_eq(member->name.raw, str_of(name));
}

static bool is_empty(const struct json_span *value)
{
    return value->kind == JSON_SPAN_NULL || (value->kind == JSON_SPAN_TEXT && value->raw.n == 0);
}

/* The members of a delta of chat: a role, text, and others that are null. */
static bool read_message(struct str json, struct str *text)
{
    struct members members;
    if (!read(&members, json))
        return false;
    for (size_t i = 0; i < members.n; i++) {
        const struct json_member *member = &members.at[i];
        if (is_named(member, "content") && member->value.kind == JSON_SPAN_TEXT)
            *text = member->value.raw;
        else if (!is_named(member, "role") && !is_empty(&member->value))
            return false;
    }
    return true;
}

static bool read_choice(struct str json, struct str *text)
{
    struct members members;
    if (!read(&members, json))
        return false;
    for (size_t i = 0; i < members.n; i++) {
        const struct json_member *member = &members.at[i];
        const struct json_span *value = &member->value;
        if (is_named(member, "text") && value->kind == JSON_SPAN_TEXT)
            *text = value->raw;
        else if (is_named(member, "delta") && value->kind == JSON_SPAN_OBJECT) {
            if (!read_message(value->raw, text))
                return false;
        } else if (is_named(member, "index")) {
            if (!str_eq(value->raw, STR("0")))
                return false;
        } else if (!is_named(member, "logprobs") && !is_empty(value))
            return false;
    }
    return true;
}

bool delta_read_text(struct str delta, struct str *ret_text)
{
    struct members members;
    struct json_span choice, other;
    struct str text = STR(""), rest;
    if (!read(&members, delta))
        return false;
    for (size_t i = 0; i < members.n; i++) {
        const struct json_span *value = &members.at[i].value;
        if (is_named(&members.at[i], "usage"))
            continue;
        if (!is_named(&members.at[i], "choices") || value->kind != JSON_SPAN_LIST)
            return false;
        rest = json_list_inside(value);
        if (json_next_item(&rest, &choice) &&
            (!read_choice(choice.raw, &text) || json_next_item(&rest, &other)))
            return false;
    }
    *ret_text = text;
    return true;
}

void delta_put_continue(struct buf *b, struct str pieces)
{
    struct lines lines = lines_of(pieces);
    struct piece piece;
    struct str text;
    uint64_t offset = 0;
    buf_put_key(b, "Continue");
    buf_put_char(b, '"');
    while (piece_next(&lines, &piece)) {
        offset = piece.id.offset;
        if (piece.is_delta && delta_read_text(piece.text, &text))
            buf_put(b, text); /* the insides of two JSON strings are the inside of one */
    }
    buf_put_char(b, '"');
    buf_put_key(b, "Offset");
    buf_put_u64(b, offset);
}
