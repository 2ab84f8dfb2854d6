/* SPDX-License-Identifier: MIT
 * events.c - see events.h. Texts are put as they are escaped. */
#include "services/openai/messages/events.h"

#include <stdio.h>
#include <string.h>

enum { USAGE_MAX_BYTES = 20 << 10 };

static const struct json_span *text_of(const struct members *members, const char *name)
{
    const struct json_span *text = members_get_kind(members, name, JSON_SPAN_TEXT);
    return text != NULL && text->raw.n > 0 ? text : NULL;
}

static const char *stop_reason(struct str finish, bool has_call)
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

static void put_head(struct buf *b, struct str id, struct str model)
{
    buf_printf(
        b, "{\"id\":\"%.*s\",\"type\":\"message\",\"role\":\"assistant\",\"model\":", STR_ARG(id));
    buf_put_json(b, model);
}

static const struct json_span *reasoning_of(const struct members *delta)
{
    const struct json_span *text = text_of(delta, "reasoning_content");
    return text != NULL ? text : text_of(delta, "reasoning");
}

/* --- a stream --------------------------------------------------------------------------------- */

void message_events_init(struct message_events *e,
                         void (*put)(void *context, const char *event, const struct buf *data),
                         void *context, struct usage *usage)
{
    *e = (struct message_events){.put = put, .context = context, .usage = usage};
    buf_init(&e->data, MESSAGE_EVENT_MAX_BYTES);
}

void message_events_fini(struct message_events *e)
{
    buf_fini(&e->data);
}

static void put(struct message_events *e, const char *event)
{
    e->put(e->context, event, &e->data);
    buf_clear(&e->data);
}

void message_events_begin(struct message_events *e, struct str id, struct str model)
{
    struct buf b; /* `data` may have an event that waits for this one */
    buf_init(&b, MESSAGE_EVENT_MAX_BYTES);
    buf_lit(&b, "{\"type\":\"message_start\",\"message\":");
    put_head(&b, id, model);
    buf_lit(&b, ",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":");
    message_put_usage(&b, e->usage);
    buf_lit(&b, "}}");
    e->put(e->context, "message_start", &b);
    buf_fini(&b);
}

static void put_delta(struct message_events *e, const char *type, const char *member,
                      struct str inside)
{
    buf_printf(&e->data,
               "{\"type\":\"content_block_delta\",\"index\":%llu,\"delta\":{\"type\":\"%s\","
               "\"%s\":\"",
               (unsigned long long)e->index, type, member);
    buf_put(&e->data, inside);
    buf_lit(&e->data, "\"}}");
    e->usage->text_bytes += inside.n;
    put(e, "content_block_delta");
}

static void close_block(struct message_events *e)
{
    if (e->block == BLOCK_NONE)
        return;
    if (e->block == BLOCK_THINKING) /* engines sign nothing */
        put_delta(e, "signature_delta", "signature", STR(""));
    buf_printf(&e->data, "{\"type\":\"content_block_stop\",\"index\":%llu}",
               (unsigned long long)e->index);
    put(e, "content_block_stop");
    e->block = BLOCK_NONE;
    e->index++;
}

/* Begins the data of content_block_start. */
static void open_block(struct message_events *e, enum message_block block)
{
    close_block(e);
    e->block = block;
    buf_printf(&e->data, "{\"type\":\"content_block_start\",\"index\":%llu,\"content_block\":",
               (unsigned long long)e->index);
}

static void give_text(struct message_events *e, enum message_block block, struct str inside)
{
    bool is_text = block == BLOCK_TEXT;
    if (e->block != block) {
        open_block(e, block);
        buf_put(&e->data,
                is_text ? STR("{\"type\":\"text\",\"text\":\"\"}}")
                        : STR("{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}"));
        put(e, "content_block_start");
    }
    put_delta(e, is_text ? "text_delta" : "thinking_delta", is_text ? "text" : "thinking", inside);
}

static void put_call_head(struct buf *b, const struct members *call, const struct members *function,
                          uint64_t index)
{
    const struct json_span *id = text_of(call, "id"), *name = text_of(function, "name");
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

static bool give_call(struct message_events *e, struct str json)
{
    struct members call, function = {.n = 0};
    if (!members_read(&call, json))
        return true;
    const struct json_span *body = members_get_kind(&call, "function", JSON_SPAN_OBJECT);
    if (body != NULL)
        (void)members_read(&function, body->raw);
    const struct json_span *arguments = text_of(&function, "arguments");
    uint64_t number = members_u64(&call, "index", 0) + 1;
    if (number < e->call || (number == e->call && e->block != BLOCK_TOOL))
        return arguments == NULL; /* its block has ended */
    if (number > e->call) {
        open_block(e, BLOCK_TOOL);
        put_call_head(&e->data, &call, &function, number);
        buf_lit(&e->data, "{}}}");
        put(e, "content_block_start");
        e->call = number;
        e->has_call = true;
    }
    if (arguments != NULL)
        put_delta(e, "input_json_delta", "partial_json", arguments->raw);
    return true;
}

static bool give_choice(struct message_events *e, const struct members *choice)
{
    struct members delta;
    struct json_span item;
    const struct json_span *given = members_get_kind(choice, "delta", JSON_SPAN_OBJECT),
                           *finish = text_of(choice, "finish_reason");
    if (finish != NULL && e->finish[0] == 0 && finish->raw.n < sizeof e->finish)
        snprintf(e->finish, sizeof e->finish, "%.*s", STR_ARG(finish->raw));
    if (given == NULL || !members_read(&delta, given->raw))
        return true;
    const struct json_span *thinking = reasoning_of(&delta), *text = text_of(&delta, "content"),
                           *refusal = text_of(&delta, "refusal"),
                           *calls = members_get_kind(&delta, "tool_calls", JSON_SPAN_LIST);
    if (thinking != NULL)
        give_text(e, BLOCK_THINKING, thinking->raw);
    if (text != NULL)
        give_text(e, BLOCK_TEXT, text->raw);
    if (refusal != NULL)
        give_text(e, BLOCK_TEXT, refusal->raw);
    if (calls == NULL)
        return true;
    for (struct str rest = json_list_inside(calls); json_next_item(&rest, &item);)
        if (!give_call(e, item.raw))
            return false;
    return true;
}

bool message_events_give(struct message_events *e, struct str json)
{
    struct members delta, choice;
    struct json_span item;
    if (!members_read(&delta, json))
        return true;
    usage_say(e->usage, members_get(&delta, "usage"));
    const struct json_span *choices = members_get_kind(&delta, "choices", JSON_SPAN_LIST);
    if (choices == NULL)
        return true;
    for (struct str rest = json_list_inside(choices); json_next_item(&rest, &item);)
        if (members_read(&choice, item.raw) && members_u64(&choice, "index", 0) == 0 &&
            !give_choice(e, &choice))
            return false;
    return true;
}

void message_events_end(struct message_events *e, struct str finish)
{
    struct str said = e->finish[0] != 0 ? str_of(e->finish) : finish;
    close_block(e);
    buf_printf(&e->data,
               "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"%s\","
               "\"stop_sequence\":null},\"usage\":",
               stop_reason(said, e->has_call));
    message_put_usage(&e->data, e->usage);
    buf_put_char(&e->data, '}');
    put(e, "message_delta");
    buf_lit(&e->data, "{\"type\":\"message_stop\"}");
    put(e, "message_stop");
}

/* --- in one piece ----------------------------------------------------------------------------- */

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
static void put_input(struct buf *b, const struct json_span *arguments)
{
    struct members members;
    struct buf text;
    if (arguments == NULL) {
        buf_lit(b, "{}");
        return;
    }
    buf_init(&text, MESSAGE_EVENT_MAX_BYTES);
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
        put_call_head(b, &call, &function, ++n);
        put_input(b, text_of(&function, "arguments"));
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
                           *finish = text_of(&choice, "finish_reason");
    if (given == NULL || !members_read(&message, given->raw))
        return false;
    if (counted != NULL)
        (void)members_read(&usage, counted->raw);
    put_head(b, id, model);
    buf_lit(b, ",\"content\":[");
    size_t start = b->n;
    put_block(b, start, "thinking", reasoning_of(&message));
    put_block(b, start, "text", text_of(&message, "content"));
    put_block(b, start, "text", text_of(&message, "refusal"));
    bool has_call = put_calls(b, start, members_get_kind(&message, "tool_calls", JSON_SPAN_LIST));
    buf_printf(b, "],\"stop_reason\":\"%s\",\"stop_sequence\":null,\"usage\":",
               stop_reason(finish == NULL ? STR("") : finish->raw, has_call));
    put_usage(b, &usage);
    buf_put_char(b, '}');
    return true;
}
