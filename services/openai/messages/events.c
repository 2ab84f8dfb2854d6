/* SPDX-License-Identifier: MIT
 * events.c - see events.h. Texts are put as they are escaped. */
#include "services/openai/messages/events.h"

#include "services/openai/messages/whole.h"

#include <stdio.h>
#include <string.h>

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
    message_put_head(&b, id, model);
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

static bool give_call(struct message_events *e, struct str json)
{
    struct members call, function = {.n = 0};
    if (!members_read(&call, json))
        return true;
    const struct json_span *body = members_get_kind(&call, "function", JSON_SPAN_OBJECT);
    if (body != NULL)
        (void)members_read(&function, body->raw);
    const struct json_span *arguments = message_text_of(&function, "arguments");
    uint64_t number = members_u64(&call, "index", 0) + 1;
    if (number < e->call || (number == e->call && e->block != BLOCK_TOOL))
        return arguments == NULL; /* its block has ended */
    if (number > e->call) {
        open_block(e, BLOCK_TOOL);
        message_put_call_head(&e->data, &call, &function, number);
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
                           *finish = message_text_of(choice, "finish_reason");
    if (finish != NULL && e->finish[0] == 0 && finish->raw.n < sizeof e->finish)
        snprintf(e->finish, sizeof e->finish, "%.*s", STR_ARG(finish->raw));
    if (given == NULL || !members_read(&delta, given->raw))
        return true;
    const struct json_span *thinking = message_reasoning_of(&delta),
                           *text = message_text_of(&delta, "content"),
                           *refusal = message_text_of(&delta, "refusal"),
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
               message_stop_reason(said, e->has_call));
    message_put_usage(&e->data, e->usage);
    buf_put_char(&e->data, '}');
    put(e, "message_delta");
    buf_lit(&e->data, "{\"type\":\"message_stop\"}");
    put(e, "message_stop");
}
