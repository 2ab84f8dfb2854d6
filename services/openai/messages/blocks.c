/* SPDX-License-Identifier: MIT
 * blocks.c - see blocks.h. Texts are put as they are escaped. */
#include "services/openai/messages/blocks.h"

#include <stdio.h>

static bool is_type(const struct members *block, const char *name)
{
    const struct json_span *type = members_get_kind(block, "type", JSON_SPAN_TEXT);
    return type != NULL && str_eq(type->raw, str_of(name));
}

static bool is_role(const struct json_span *role, const char *name)
{
    return role != NULL && str_eq(role->raw, str_of(name));
}

static const struct json_span *text_of(const struct members *block, const char *name)
{
    return members_get_kind(block, name, JSON_SPAN_TEXT);
}

bool blocks_fault(const struct place *place, const char *expected)
{
    snprintf(place->fault, MESSAGE_FAULT_BYTES, "messages.%zu.content.%zu: %s.", place->message,
             place->block, expected);
    return false;
}

/* --- checks ----------------------------------------------------------------------------------- */

static const char *fault_of_image(const struct members *block)
{
    struct members source;
    const struct json_span *given = members_get_kind(block, "source", JSON_SPAN_OBJECT);
    if (given != NULL && members_read(&source, given->raw)) {
        if (is_type(&source, "base64") && text_of(&source, "media_type") != NULL &&
            text_of(&source, "data") != NULL)
            return NULL;
        if (is_type(&source, "url") && text_of(&source, "url") != NULL)
            return NULL;
    }
    return "an image has a `source` of type base64 (with media_type and data) or url";
}

static const char *fault_of_inner(const struct members *block)
{
    if (is_type(block, "image"))
        return fault_of_image(block);
    if (is_type(block, "text") && text_of(block, "text") != NULL)
        return NULL;
    if (is_type(block, "tool_reference") && text_of(block, "tool_name") != NULL)
        return NULL;
    return "`content` of a tool_result has blocks of type text, image or tool_reference";
}

static const char *fault_of_result(const struct members *block)
{
    const struct json_span *content = members_get(block, "content");
    struct members inner;
    struct json_span item;
    if (text_of(block, "tool_use_id") == NULL)
        return "a tool_result has a text `tool_use_id`";
    if (content == NULL || content->kind == JSON_SPAN_TEXT)
        return NULL;
    if (content->kind != JSON_SPAN_LIST)
        return "`content` of a tool_result is a text or a list of blocks";
    for (struct str rest = json_list_inside(content); json_next_item(&rest, &item);) {
        if (item.kind != JSON_SPAN_OBJECT || !members_read(&inner, item.raw))
            return "a block of a tool_result is an object";
        const char *fault = fault_of_inner(&inner);
        if (fault != NULL)
            return fault;
    }
    return NULL;
}

/* Returns NULL if the block is good. */
static const char *fault_of(const struct members *block, bool is_user)
{
    if (is_type(block, "text"))
        return text_of(block, "text") != NULL ? NULL : "a text block has a text `text`";
    if (is_user && is_type(block, "image"))
        return fault_of_image(block);
    if (is_user && is_type(block, "tool_result"))
        return fault_of_result(block);
    if (!is_user && is_type(block, "thinking"))
        return text_of(block, "thinking") != NULL ? NULL : "a thinking block has a text `thinking`";
    if (!is_user && is_type(block, "redacted_thinking"))
        return NULL;
    if (!is_user && is_type(block, "tool_use"))
        return text_of(block, "id") != NULL && text_of(block, "name") != NULL &&
                       members_get_kind(block, "input", JSON_SPAN_OBJECT) != NULL
                   ? NULL
                   : "a tool_use has the texts `id` and `name` and the object `input`";
    return is_user ? "blocks of a user are of type text, image or tool_result"
                   : "blocks of an assistant are of type text, thinking, redacted_thinking or "
                     "tool_use";
}

static bool check(const struct json_span *content, bool is_user, struct place *place)
{
    struct members block;
    struct json_span item;
    place->block = 0;
    for (struct str rest = json_list_inside(content); json_next_item(&rest, &item);
         place->block++) {
        if (item.kind != JSON_SPAN_OBJECT || !members_read(&block, item.raw))
            return blocks_fault(place, "a block is an object");
        const char *fault = fault_of(&block, is_user);
        if (fault != NULL)
            return blocks_fault(place, fault);
    }
    return true;
}

/* --- putting ---------------------------------------------------------------------------------- */

/* Puts the insides of the texts of blocks of that type, each after the escaped `separator` unless
 * it begins at `start`. */
static void put_insides(struct buf *b, size_t start, const struct json_span *content,
                        const char *type, const char *member, const char *separator)
{
    struct members block;
    struct json_span item;
    for (struct str rest = json_list_inside(content); json_next_item(&rest, &item);) {
        if (!members_read(&block, item.raw) || !is_type(&block, type))
            continue;
        const struct json_span *text = text_of(&block, member);
        if (text == NULL || text->raw.n == 0)
            continue;
        if (b->n > start)
            buf_put(b, str_of(separator));
        buf_put(b, text->raw);
    }
}

/* Puts the texts of a text, or of a list of blocks that has nothing else, as one JSON text. */
static bool put_texts(struct buf *b, const struct json_span *value)
{
    struct members block;
    struct json_span item;
    if (value->kind == JSON_SPAN_TEXT) {
        members_put_span(b, value);
        return true;
    }
    if (value->kind != JSON_SPAN_LIST)
        return false;
    for (struct str rest = json_list_inside(value); json_next_item(&rest, &item);)
        if (item.kind != JSON_SPAN_OBJECT || !members_read(&block, item.raw) ||
            !is_type(&block, "text") || text_of(&block, "text") == NULL)
            return false;
    buf_put_char(b, '"');
    put_insides(b, b->n, value, "text", "text", "\\n");
    buf_put_char(b, '"');
    return true;
}

static void put_result(struct buf *b, const struct members *block)
{
    const struct json_span *content = members_get(block, "content"),
                           *is_error = members_get_kind(block, "is_error", JSON_SPAN_BOOL);
    buf_lit(b, ",{\"role\":\"tool\",\"tool_call_id\":");
    members_put_span(b, text_of(block, "tool_use_id"));
    buf_lit(b, ",\"content\":\"");
    if (is_error != NULL && str_eq(is_error->raw, STR("true")))
        buf_lit(b, "Error: ");
    size_t start = b->n;
    if (content != NULL && content->kind == JSON_SPAN_TEXT) {
        buf_put(b, content->raw);
    } else if (content != NULL) {
        put_insides(b, start, content, "text", "text", "\\n");
        put_insides(b, start, content, "tool_reference", "tool_name", "\\n");
    }
    buf_lit(b, "\"}");
}

static void put_image(struct buf *b, const struct members *block)
{
    struct members source;
    if (!members_read(&source, members_get(block, "source")->raw))
        return;
    buf_lit(b, "{\"type\":\"image_url\",\"image_url\":{\"url\":");
    if (is_type(&source, "url")) {
        members_put_span(b, text_of(&source, "url"));
    } else {
        buf_lit(b, "\"data:");
        buf_put(b, text_of(&source, "media_type")->raw);
        buf_lit(b, ";base64,");
        buf_put(b, text_of(&source, "data")->raw);
        buf_put_char(b, '"');
    }
    buf_lit(b, "}}");
}

/* Puts the texts and images as parts of a message, those of results of tools too. */
static void put_parts(struct buf *b, const struct json_span *content, size_t start, bool is_result)
{
    struct members block;
    struct json_span item;
    for (struct str rest = json_list_inside(content); json_next_item(&rest, &item);) {
        if (!members_read(&block, item.raw))
            continue;
        bool is_image = is_type(&block, "image"), is_text = !is_result && is_type(&block, "text");
        const struct json_span *inner = is_type(&block, "tool_result")
                                            ? members_get_kind(&block, "content", JSON_SPAN_LIST)
                                            : NULL;
        if (!is_result && inner != NULL)
            put_parts(b, inner, start, true);
        if (!is_image && !is_text)
            continue;
        if (b->n > start)
            buf_put_char(b, ',');
        if (is_image) {
            put_image(b, &block);
            continue;
        }
        buf_lit(b, "{\"type\":\"text\",\"text\":");
        members_put_span(b, text_of(&block, "text"));
        buf_put_char(b, '}');
    }
}

static void put_user(struct buf *b, const struct json_span *content)
{
    struct members block;
    struct json_span item;
    bool has_result = false;
    for (struct str rest = json_list_inside(content); json_next_item(&rest, &item);)
        if (members_read(&block, item.raw) && is_type(&block, "tool_result")) {
            put_result(b, &block);
            has_result = true;
        }
    size_t before = b->n;
    buf_lit(b, ",{\"role\":\"user\",\"content\":[");
    size_t start = b->n;
    put_parts(b, content, start, false);
    bool is_empty = b->n == start;
    buf_lit(b, "]}");
    if (is_empty && has_result && !b->is_over)
        b->n = before;
}

static void put_calls(struct buf *b, const struct json_span *content)
{
    struct members block;
    struct json_span item;
    size_t start = b->n;
    for (struct str rest = json_list_inside(content); json_next_item(&rest, &item);) {
        if (!members_read(&block, item.raw) || !is_type(&block, "tool_use"))
            continue;
        buf_put(b, b->n == start ? STR(",\"tool_calls\":[{\"id\":") : STR(",{\"id\":"));
        members_put_span(b, text_of(&block, "id"));
        buf_lit(b, ",\"type\":\"function\",\"function\":{\"name\":");
        members_put_span(b, text_of(&block, "name"));
        buf_lit(b, ",\"arguments\":");
        buf_put_json(b, members_get(&block, "input")->raw);
        buf_lit(b, "}}");
    }
    if (b->n > start)
        buf_put_char(b, ']');
}

static void put_assistant(struct buf *b, const struct json_span *content)
{
    buf_lit(b, ",{\"role\":\"assistant\",\"content\":\"");
    put_insides(b, b->n, content, "text", "text", "");
    buf_put_char(b, '"');
    size_t before = b->n;
    buf_lit(b, ",\"reasoning_content\":\"");
    size_t start = b->n;
    put_insides(b, start, content, "thinking", "thinking", "");
    if (b->n == start && !b->is_over)
        b->n = before;
    else
        buf_put_char(b, '"');
    put_calls(b, content);
    buf_put_char(b, '}');
}

bool blocks_put_system(struct buf *b, const struct json_span *content)
{
    buf_lit(b, ",{\"role\":\"system\",\"content\":");
    bool is_good = put_texts(b, content);
    buf_put_char(b, '}');
    return is_good;
}

bool blocks_put(struct buf *b, const struct members *message, struct place *place)
{
    const struct json_span *role = text_of(message, "role"),
                           *content = members_get(message, "content");
    bool is_user = is_role(role, "user"), is_system = is_role(role, "system");
    if (!is_user && !is_system && !is_role(role, "assistant")) {
        snprintf(place->fault, MESSAGE_FAULT_BYTES,
                 "messages.%zu.role: it is user, assistant or system.", place->message);
        return false;
    }
    if (content == NULL || (content->kind != JSON_SPAN_TEXT && content->kind != JSON_SPAN_LIST)) {
        snprintf(place->fault, MESSAGE_FAULT_BYTES,
                 "messages.%zu.content: it is a text or a list of blocks.", place->message);
        return false;
    }
    if (is_system) {
        if (blocks_put_system(b, content))
            return true;
        snprintf(place->fault, MESSAGE_FAULT_BYTES,
                 "messages.%zu.content: of a system message it is a text or a list of blocks of "
                 "type text.",
                 place->message);
        return false;
    }
    if (content->kind == JSON_SPAN_TEXT) {
        buf_lit(b, ",{\"role\":");
        members_put_span(b, role);
        buf_lit(b, ",\"content\":");
        members_put_span(b, content);
        buf_put_char(b, '}');
        return true;
    }
    if (!check(content, is_user, place))
        return false;
    if (is_user)
        put_user(b, content);
    else
        put_assistant(b, content);
    return true;
}
