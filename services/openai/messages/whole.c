/* SPDX-License-Identifier: MIT
 * whole.c - see whole.h. Texts are put as they are escaped. */
#include "services/openai/messages/whole.h"

#include <string.h>

enum { USAGE_MAX_BYTES = 20 << 10, INPUT_MAX_BYTES = 9 << 20 };

const struct json_span *message_text_of(const struct members *members, const char *name)
{
    const struct json_span *text = members_get_kind(members, name, JSON_SPAN_TEXT);
    return text != NULL && text->raw.n > 0 ? text : NULL;
}

const struct json_span *message_reasoning_of(const struct members *delta)
{
    const struct json_span *text = message_text_of(delta, "reasoning_content");
    return text != NULL ? text : message_text_of(delta, "reasoning");
}

const char *message_stop_reason(struct str finish, bool has_call)
{
    if (str_eq(finish, STR("length")))
        return "max_tokens";
    if (str_eq(finish, STR("content_filter")))
        return "refusal";
    return has_call ? "tool_use" : "end_turn";
}

static void put_usage(struct buf *b, const struct members *counted)
{
    buf_lit(b, "{\"input_tokens\":");
    buf_put_u64(b, members_u64(counted, "prompt_tokens", 0));
    buf_lit(b, ",\"output_tokens\":");
    buf_put_u64(b, members_u64(counted, "completion_tokens", 0));
    buf_put_char(b, '}');
}

void message_put_usage(struct buf *b, const struct usage *usage)
{
    struct members counted;
    struct buf text;
    buf_init(&text, USAGE_MAX_BYTES);
    usage_put(usage, &text, true);
    (void)members_read(&counted, buf_str(&text));
    put_usage(b, &counted);
    buf_fini(&text);
}

void message_put_head(struct buf *b, struct str id, struct str model)
{
    buf_printf(
        b, "{\"id\":\"%.*s\",\"type\":\"message\",\"role\":\"assistant\",\"model\":", STR_ARG(id));
    buf_put_json(b, model);
}

void message_put_call_head(struct buf *b, const struct members *call,
                           const struct members *function, uint64_t index)
{
    const struct json_span *id = message_text_of(call, "id"),
                           *name = message_text_of(function, "name");
    buf_lit(b, "{\"type\":\"tool_use\",\"id\":");
    if (id != NULL)
        members_put_span(b, id);
    else
        buf_printf(b, "\"toolu_%llu\"", (unsigned long long)index);
    buf_lit(b, ",\"name\":");
    if (name != NULL)
        members_put_span(b, name);
    else
        buf_lit(b, "\"\"");
    buf_lit(b, ",\"input\":");
}

/* Puts the type and the text of a block, after a comma unless it is the first. */
static void put_block(struct buf *b, size_t start, const char *type, const struct json_span *text)
{
    if (text == NULL)
        return;
    buf_put(b, b->n > start ? STR(",") : STR(""));
    buf_printf(b, "{\"type\":\"%s\",\"%s\":", type, type);
    members_put_span(b, text);
    buf_put(b, strcmp(type, "thinking") == 0 ? STR(",\"signature\":\"\"}") : STR("}"));
}

/* Arguments that are no JSON object cannot be an `input`, and are then a text in one. */
void message_put_input(struct buf *b, const struct json_span *arguments)
{
    struct members members;
    struct buf text;
    if (arguments == NULL) {
        buf_lit(b, "{}");
        return;
    }
    buf_init(&text, INPUT_MAX_BYTES);
    buf_put_span_text(&text, arguments);
    if (members_read(&members, buf_str(&text))) {
        buf_put(b, buf_str(&text));
    } else {
        buf_lit(b, "{\"arguments\":");
        members_put_span(b, arguments);
        buf_put_char(b, '}');
    }
    buf_fini(&text);
}

static bool put_calls(struct buf *b, size_t start, const struct json_span *calls)
{
    struct members call, function;
    struct json_span item;
    uint64_t n = 0;
    if (calls == NULL)
        return false;
    for (struct str rest = json_list_inside(calls); json_next_item(&rest, &item);) {
        const struct json_span *body = members_read(&call, item.raw)
                                           ? members_get_kind(&call, "function", JSON_SPAN_OBJECT)
                                           : NULL;
        if (body == NULL || !members_read(&function, body->raw))
            continue;
        buf_put(b, b->n > start ? STR(",") : STR(""));
        message_put_call_head(b, &call, &function, ++n);
        message_put_input(b, message_text_of(&function, "arguments"));
        buf_put_char(b, '}');
    }
    return n > 0;
}

bool message_put_whole(struct buf *b, struct str id, struct str model, struct str answer)
{
    struct members whole, choice, message, usage = {.n = 0};
    struct json_span first;
    if (!members_read(&whole, answer))
        return false;
    const struct json_span *choices = members_get_kind(&whole, "choices", JSON_SPAN_LIST),
                           *counted = members_get_kind(&whole, "usage", JSON_SPAN_OBJECT);
    struct str rest = choices == NULL ? STR("") : json_list_inside(choices);
    if (!json_next_item(&rest, &first) || !members_read(&choice, first.raw))
        return false;
    const struct json_span *given = members_get_kind(&choice, "message", JSON_SPAN_OBJECT),
                           *finish = message_text_of(&choice, "finish_reason");
    if (given == NULL || !members_read(&message, given->raw))
        return false;
    if (counted != NULL)
        (void)members_read(&usage, counted->raw);
    message_put_head(b, id, model);
    buf_lit(b, ",\"content\":[");
    size_t start = b->n;
    put_block(b, start, "thinking", message_reasoning_of(&message));
    put_block(b, start, "text", message_text_of(&message, "content"));
    put_block(b, start, "text", message_text_of(&message, "refusal"));
    bool has_call = put_calls(b, start, members_get_kind(&message, "tool_calls", JSON_SPAN_LIST));
    buf_printf(b, "],\"stop_reason\":\"%s\",\"stop_sequence\":null,\"usage\":",
               message_stop_reason(finish == NULL ? STR("") : finish->raw, has_call));
    put_usage(b, &usage);
    buf_put_char(b, '}');
    return true;
}
