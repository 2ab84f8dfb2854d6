/* SPDX-License-Identifier: MIT
 * translate.c - see translate.h. */
#include "services/openai/messages/translate.h"

#include <stdio.h>

enum { LOW_TOKENS = 4096, MEDIUM_TOKENS = 16384 }; /* budgets of thinking, up to */

static bool fail(char *fault, const char *text)
{
    snprintf(fault, MESSAGE_FAULT_BYTES, "%s", text);
    return false;
}

static bool is_text(const struct json_span *value, const char *text)
{
    return value != NULL && value->kind == JSON_SPAN_TEXT && str_eq(value->raw, str_of(text));
}

/* Puts a member under the other interface's name, as it was sent, if it is there and of its
 * kind. */
static bool put_as(struct buf *b, const struct members *body, const char *name, const char *as,
                   enum json_kind kind, char *fault)
{
    const struct json_span *value = members_get(body, name);
    if (value == NULL)
        return true;
    if (value->kind != kind) {
        snprintf(fault, MESSAGE_FAULT_BYTES, "%s: it is %s.", name,
                 kind == JSON_SPAN_NUMBER ? "a number" : "a text");
        return false;
    }
    buf_put_key(b, as);
    members_put_span(b, value);
    return true;
}

static bool put_stops(struct buf *b, const struct members *body, char *fault)
{
    const struct json_span *stops = members_get(body, "stop_sequences");
    struct json_span item;
    size_t n = 0;
    if (stops == NULL)
        return true;
    if (stops->kind != JSON_SPAN_LIST)
        return fail(fault, "stop_sequences: it is a list of texts.");
    for (struct str rest = json_list_inside(stops); json_next_item(&rest, &item); n++)
        if (item.kind != JSON_SPAN_TEXT)
            return fail(fault, "stop_sequences: it is a list of texts.");
    if (n > 0) {
        buf_put_key(b, "stop");
        members_put_span(b, stops);
    }
    return true;
}

/* Reads a member that is an object, empty if it is not there. Returns false if it is of another
 * kind. */
static bool read_object(const struct members *body, const char *name, struct members *ret_object,
                        char *fault)
{
    const struct json_span *given = members_get(body, name);
    *ret_object = (struct members){.n = 0};
    if (given == NULL || (given->kind == JSON_SPAN_OBJECT && members_read(ret_object, given->raw)))
        return true;
    snprintf(fault, MESSAGE_FAULT_BYTES, "%s: it is an object.", name);
    return false;
}

static bool put_user(struct buf *b, const struct members *body, char *fault)
{
    struct members metadata;
    if (!read_object(body, "metadata", &metadata, fault))
        return false;
    return put_as(b, &metadata, "user_id", "user", JSON_SPAN_TEXT, fault);
}

/* `effort` of output_config, whose highest two chats do not know. */
static bool put_effort(struct buf *b, const struct members *config, char *fault)
{
    const struct json_span *effort = members_get(config, "effort");
    if (effort == NULL)
        return true;
    bool is_high = is_text(effort, "xhigh") || is_text(effort, "max");
    if (!is_high && !is_text(effort, "low") && !is_text(effort, "medium") &&
        !is_text(effort, "high"))
        return fail(fault, "output_config.effort: it is low, medium, high, xhigh or max.");
    buf_put_key(b, "reasoning_effort");
    if (is_high)
        buf_lit(b, "\"high\"");
    else
        members_put_span(b, effort);
    return true;
}

/* A budget counts before an effort, and neither without thinking. */
static bool put_thinking(struct buf *b, const struct members *body, char *fault)
{
    struct members thinking, config;
    if (!read_object(body, "thinking", &thinking, fault) ||
        !read_object(body, "output_config", &config, fault))
        return false;
    const struct json_span *type = members_get(&thinking, "type");
    if (is_text(type, "disabled"))
        return true;
    if (!is_text(type, "enabled"))
        return put_effort(b, &config, fault);
    uint64_t tokens = members_u64(&thinking, "budget_tokens", 0);
    if (tokens == 0)
        return fail(fault, "thinking.budget_tokens: it is a number from 1.");
    buf_put_key(b, "reasoning_effort");
    buf_put(b, tokens <= LOW_TOKENS      ? STR("\"low\"")
               : tokens <= MEDIUM_TOKENS ? STR("\"medium\"")
                                         : STR("\"high\""));
    return true;
}

/* --- tools ------------------------------------------------------------------------------------ */

static bool put_tool(struct buf *b, const struct json_span *given, size_t at, char *fault)
{
    struct members tool;
    if (given->kind != JSON_SPAN_OBJECT || !members_read(&tool, given->raw)) {
        snprintf(fault, MESSAGE_FAULT_BYTES, "tools.%zu: it is an object.", at);
        return false;
    }
    const struct json_span *type = members_get(&tool, "type"),
                           *name = members_get_kind(&tool, "name", JSON_SPAN_TEXT),
                           *schema = members_get_kind(&tool, "input_schema", JSON_SPAN_OBJECT),
                           *description = members_get_kind(&tool, "description", JSON_SPAN_TEXT);
    if (type != NULL && !is_text(type, "custom")) {
        snprintf(fault, MESSAGE_FAULT_BYTES,
                 "tools.%zu.type: tools that a server runs, such as web_search, are not offered "
                 "here; only those with an `input_schema` are.",
                 at);
        return false;
    }
    if (name == NULL || schema == NULL) {
        snprintf(fault, MESSAGE_FAULT_BYTES,
                 "tools.%zu: it has a text `name` and an object `input_schema`.", at);
        return false;
    }
    buf_put(b, at == 0 ? STR("{\"type\":\"function\",\"function\":{\"name\":")
                       : STR(",{\"type\":\"function\",\"function\":{\"name\":"));
    members_put_span(b, name);
    if (description != NULL) {
        buf_put_key(b, "description");
        members_put_span(b, description);
    }
    buf_put_key(b, "parameters");
    buf_put(b, schema->raw);
    buf_lit(b, "}}");
    return true;
}

static bool put_tools(struct buf *b, const struct members *body, char *fault)
{
    const struct json_span *tools = members_get(body, "tools");
    struct json_span item;
    size_t at = 0;
    if (tools == NULL)
        return true;
    if (tools->kind != JSON_SPAN_LIST)
        return fail(fault, "tools: it is a list.");
    for (struct str rest = json_list_inside(tools); json_next_item(&rest, &item); at++) {
        if (at == 0)
            buf_lit(b, ",\"tools\":[");
        if (!put_tool(b, &item, at, fault))
            return false;
    }
    if (at > 0)
        buf_put_char(b, ']');
    return true;
}

static bool put_choice(struct buf *b, const struct members *body, char *fault)
{
    static const char expected[] =
        "tool_choice: it is an object of type auto, any, none, or tool with a text `name`.";
    struct members choice;
    const struct json_span *given = members_get(body, "tool_choice");
    if (given == NULL)
        return true;
    if (given->kind != JSON_SPAN_OBJECT || !members_read(&choice, given->raw))
        return fail(fault, expected);
    const struct json_span *type = members_get(&choice, "type"),
                           *name = members_get_kind(&choice, "name", JSON_SPAN_TEXT),
                           *is_single = members_get_kind(&choice, "disable_parallel_tool_use",
                                                         JSON_SPAN_BOOL);
    buf_put_key(b, "tool_choice");
    if (is_text(type, "auto") || is_text(type, "none")) {
        members_put_span(b, type);
    } else if (is_text(type, "any")) {
        buf_lit(b, "\"required\"");
    } else if (is_text(type, "tool") && name != NULL) {
        buf_lit(b, "{\"type\":\"function\",\"function\":{\"name\":");
        members_put_span(b, name);
        buf_lit(b, "}}");
    } else {
        return fail(fault, expected);
    }
    if (is_single != NULL && str_eq(is_single->raw, STR("true")))
        buf_lit(b, ",\"parallel_tool_calls\":false");
    return true;
}

/* --- messages --------------------------------------------------------------------------------- */

static bool put_messages(struct buf *b, const struct members *body, char *fault)
{
    const struct json_span *system = members_get(body, "system"),
                           *messages = members_get_kind(body, "messages", JSON_SPAN_LIST);
    struct place place = {.fault = fault};
    struct members message;
    struct json_span item;
    buf_put_key(b, "messages");
    size_t start = b->n;
    if (system != NULL && !blocks_put_system(b, system))
        return fail(fault, "system: it is a text or a list of blocks of type text.");
    struct str rest = messages == NULL ? STR("") : json_list_inside(messages);
    for (; json_next_item(&rest, &item); place.message++) {
        if (item.kind != JSON_SPAN_OBJECT || !members_read(&message, item.raw)) {
            snprintf(fault, MESSAGE_FAULT_BYTES, "messages.%zu: it is an object.", place.message);
            return false;
        }
        if (!blocks_put(b, &message, &place))
            return false;
    }
    if (place.message == 0)
        return fail(fault, "messages: it is a list that is not empty.");
    if (!b->is_over)
        b->at[start] = '['; /* in the place of the first comma */
    buf_put_char(b, ']');
    return true;
}

bool translate_messages(struct buf *b, struct str json, bool is_count,
                        char fault[MESSAGE_FAULT_BYTES])
{
    struct members body;
    if (!members_read(&body, json))
        return fail(fault, "The body must be a JSON object.");
    const struct json_span *model = members_get_kind(&body, "model", JSON_SPAN_TEXT);
    if (model == NULL)
        return fail(fault, "model: it is a text.");
    if (!is_count && members_u64(&body, "max_tokens", 0) == 0)
        return fail(fault, "max_tokens: it is a whole number from 1.");
    buf_lit(b, "{\"model\":");
    members_put_span(b, model);
    if (!put_messages(b, &body, fault) ||
        !put_as(b, &body, "max_tokens", "max_tokens", JSON_SPAN_NUMBER, fault) ||
        !put_stops(b, &body, fault) ||
        !put_as(b, &body, "temperature", "temperature", JSON_SPAN_NUMBER, fault) ||
        !put_as(b, &body, "top_p", "top_p", JSON_SPAN_NUMBER, fault) ||
        !put_as(b, &body, "top_k", "top_k", JSON_SPAN_NUMBER, fault) ||
        !put_user(b, &body, fault) || !put_thinking(b, &body, fault) ||
        !put_tools(b, &body, fault) || !put_choice(b, &body, fault))
        return false;
    buf_put_char(b, '}');
    return !b->is_over || fail(fault, "The request is too long for a chat request.");
}

void translate_title(struct str json, struct json_span *ret_text)
{
    struct members body, message, block;
    struct json_span item, part;
    if (!members_read(&body, json))
        return;
    const struct json_span *messages = members_get_kind(&body, "messages", JSON_SPAN_LIST);
    if (messages == NULL)
        return;
    for (struct str rest = json_list_inside(messages); json_next_item(&rest, &item);) {
        if (item.kind != JSON_SPAN_OBJECT || !members_read(&message, item.raw) ||
            !is_text(members_get(&message, "role"), "user"))
            continue;
        const struct json_span *content = members_get(&message, "content");
        if (content == NULL)
            continue;
        if (content->kind == JSON_SPAN_TEXT) {
            *ret_text = *content;
            continue;
        }
        for (struct str parts = json_list_inside(content); json_next_item(&parts, &part);) {
            if (part.kind != JSON_SPAN_OBJECT || !members_read(&block, part.raw))
                continue;
            const struct json_span *text = members_get_kind(&block, "text", JSON_SPAN_TEXT);
            if (text != NULL)
                *ret_text = *text;
        }
    }
}
