/* SPDX-License-Identifier: MIT
 * events.c - see events.h. */
#include "services/openai/responses/events.h"

#include "services/openai/responses/give.h"
#include "services/openai/responses/tools.h"

#include "shared/base/mem.h"

enum { ITEMS_MAX = 1024, EVENT_MAX_BYTES = 32 << 20 };

void events_clear(struct events *e)
{
    events_fini(e);
    e->finish = EVENTS_WHOLE;
    e->is_over = false;
}

void events_fini(struct events *e)
{
    for (size_t i = 0; i < e->item_n; i++)
        events_item_fini(&e->items[i]);
    tool_index_fini(&e->tool_index);
    free(e->items);
    e->items = NULL;
    e->item_n = 0;
}

/* --- the object ------------------------------------------------------------------------------- */

void events_put_output(const struct events *e, struct buf *b)
{
    for (size_t i = 0; i < e->item_n; i++) {
        if (i > 0)
            buf_put_char(b, ',');
        events_item_put(b, &e->items[i], e->id, i, e->items[i].is_done ? "completed" : "incomplete",
                        false);
    }
}

static void put_object(const struct events *e, struct buf *b, const char *status, bool is_whole)
{
    buf_put(b, e->head);
    buf_printf(b, ",\"status\":\"%s\"", status);
    buf_put(b, e->settings);
    buf_lit(b, ",\"output\":[");
    if (is_whole)
        events_put_output(e, b);
    buf_put_char(b, ']');
}

/* An event about the response before its end. */
static void give_state(struct events *e, const char *type, const char *status, int64_t position)
{
    struct buf b;
    if (e->put == NULL)
        return;
    give_begin(e, &b, type);
    buf_lit(&b, ",\"response\":");
    put_object(e, &b, status, false);
    buf_lit(&b, ",\"error\":null,\"incomplete_details\":null}");
    if (position >= 0)
        buf_printf(&b, ",\"queue\":{\"position\":%lld}", (long long)position);
    give_end(e, &b, type);
}

/* --- items ------------------------------------------------------------------------------------ */

/* Announces a call, and gives the arguments that have come before its name. */
static void add_call_item(struct events *e, size_t index)
{
    struct events_item *item = &e->items[index];
    if (item->is_added)
        return;
    item->is_added = true;
    if (item->call_id.n == 0)
        buf_printf(&item->call_id, "call_%.*s_%zu", STR_ARG(e->id), index);
    give_item(e, "response.output_item.added", index, "in_progress");
    if (item->text.n > 0 && !item->is_wrapped)
        give_call_delta(e, index, buf_str(&item->text));
}

/* Takes the text of a custom tool out of the arguments of the function that it was; leaves them if
 * they have none. */
static void unwrap(struct events *e, size_t index)
{
    struct events_item *item = &e->items[index];
    const struct json_span arguments = {
        .kind = JSON_SPAN_TEXT, .has_escape = true, .raw = buf_str(&item->text)};
    struct members members;
    struct buf plain;
    buf_init(&plain, EVENT_MAX_BYTES);
    buf_put_span_text(&plain, &arguments);
    const struct json_span *input = members_read(&members, buf_str(&plain))
                                        ? members_get_kind(&members, CUSTOM_INPUT, JSON_SPAN_TEXT)
                                        : NULL;
    if (input != NULL) {
        buf_clear(&item->text);
        buf_put(&item->text, input->raw);
    }
    buf_fini(&plain);
    item->is_wrapped = false;
    if (item->text.n > 0)
        give_call_delta(e, index, buf_str(&item->text));
}

static void end_item(struct events *e, size_t index, bool is_whole)
{
    struct events_item *item = &e->items[index];
    if (item->is_done)
        return;
    if (item->kind == ITEM_CALL) {
        add_call_item(e, index);
        if (item->is_wrapped)
            unwrap(e, index);
        give_call_end(e, index);
    }
    if (item->kind == ITEM_REASONING)
        give_part_end(e, index, PART_REASONING);
    if (item->has_text && !item->is_text_done)
        give_part_end(e, index, PART_TEXT);
    if (item->has_refusal)
        give_part_end(e, index, PART_REFUSAL);
    item->is_text_done = true;
    item->is_done = is_whole;
    give_item(e, "response.output_item.done", index, is_whole ? "completed" : "incomplete");
}

/* Returns the message or thought that has not ended, or item_n. */
static size_t open_item(const struct events *e)
{
    for (size_t i = e->item_n; i-- > 0;)
        if (e->items[i].kind != ITEM_CALL)
            return e->items[i].is_done ? e->item_n : i;
    return e->item_n;
}

static bool begin_new(struct events *e, enum events_kind kind)
{
    if (e->item_n == ITEMS_MAX) {
        e->is_over = true;
        return false;
    }
    if (open_item(e) < e->item_n)
        end_item(e, open_item(e), true);
    e->items = mem_grow(e->items, e->item_n, sizeof *e->items);
    events_item_init(&e->items[e->item_n++], kind);
    return true;
}

/* Returns the index of an open item of that kind, which may begin with this; item_n: none. */
static size_t item_of(struct events *e, enum events_kind kind)
{
    size_t index = open_item(e);
    if (index < e->item_n && e->items[index].kind == kind)
        return index;
    if (!begin_new(e, kind))
        return e->item_n;
    give_item(e, "response.output_item.added", e->item_n - 1, "in_progress");
    if (kind == ITEM_REASONING)
        give_part(e, "response.content_part.added", e->item_n - 1, PART_REASONING, true);
    return e->item_n - 1;
}

/* --- what comes ------------------------------------------------------------------------------- */

static bool is_text(const struct json_span *span)
{
    return span != NULL && span->kind == JSON_SPAN_TEXT && span->raw.n > 0;
}

static void append(struct events *e, struct buf *to, struct str raw)
{
    buf_put(to, raw);
    e->is_over |= to->is_over;
    e->usage->text_bytes += raw.n;
}

static void add_thought(struct events *e, struct str raw)
{
    size_t index = item_of(e, ITEM_REASONING);
    if (index == e->item_n)
        return;
    append(e, &e->items[index].text, raw);
    give_part_delta(e, index, PART_REASONING, raw, NULL);
}

/* Returns the message whose part is open, which may begin with this; item_n: none. */
static size_t message_with(struct events *e, enum events_part part)
{
    size_t index = open_item(e);
    if (part == PART_TEXT && index < e->item_n && e->items[index].has_refusal)
        end_item(e, index, true); /* a text comes before a refusal */
    index = item_of(e, ITEM_MESSAGE);
    if (index == e->item_n)
        return index;
    struct events_item *item = &e->items[index];
    bool *has = part == PART_TEXT ? &item->has_text : &item->has_refusal;
    if (*has)
        return index;
    if (part == PART_REFUSAL && item->has_text) {
        give_part_end(e, index, PART_TEXT);
        item->is_text_done = true;
    }
    *has = true;
    give_part(e, "response.content_part.added", index, part, true);
    return index;
}

static void add_text(struct events *e, struct str raw, const struct json_span *logprobs)
{
    size_t index = message_with(e, PART_TEXT);
    struct buf given;
    if (index == e->item_n)
        return;
    struct events_item *item = &e->items[index];
    buf_init(&given, EVENT_MAX_BYTES);
    if (logprobs != NULL)
        events_put_logprobs(&given, logprobs);
    if (given.n > 0 && item->logprobs.n > 0)
        buf_put_char(&item->logprobs, ',');
    buf_put(&item->logprobs, buf_str(&given));
    e->is_over |= item->logprobs.is_over;
    append(e, &item->text, raw);
    give_part_delta(e, index, PART_TEXT, raw, &given);
    buf_fini(&given);
}

static void add_refusal(struct events *e, struct str raw)
{
    size_t index = message_with(e, PART_REFUSAL);
    if (index == e->item_n)
        return;
    append(e, &e->items[index].refusal, raw);
    give_part_delta(e, index, PART_REFUSAL, raw, NULL);
}

static void add_annotation(struct events *e, size_t index, struct str json)
{
    struct events_item *item = &e->items[index];
    struct buf annotation, b;
    buf_init(&annotation, EVENT_MAX_BYTES);
    if (events_put_annotation(&annotation, json)) {
        if (item->annotation_n > 0)
            buf_put_char(&item->annotations, ',');
        buf_put(&item->annotations, buf_str(&annotation));
        e->is_over |= item->annotations.is_over;
        if (e->put != NULL) {
            give_begin_item(e, &b, "response.output_text.annotation.added", index, 0);
            buf_printf(&b, ",\"annotation_index\":%zu,\"annotation\":", item->annotation_n);
            buf_put(&b, buf_str(&annotation));
            give_end(e, &b, "response.output_text.annotation.added");
        }
        item->annotation_n++;
    }
    buf_fini(&annotation);
}

static void add_annotations(struct events *e, const struct json_span *list)
{
    struct json_span note;
    size_t index = open_item(e);
    if (index == e->item_n || !e->items[index].has_text || e->items[index].is_text_done)
        return;
    for (struct str rest = json_list_inside(list); json_next_item(&rest, &note);)
        add_annotation(e, index, note.raw);
}

static size_t call_at(struct events *e, uint64_t call_index)
{
    for (size_t i = e->item_n; i-- > 0;)
        if (e->items[i].kind == ITEM_CALL && e->items[i].call_index == call_index)
            return i;
    if (!begin_new(e, ITEM_CALL))
        return e->item_n;
    e->items[e->item_n - 1].call_index = call_index;
    return e->item_n - 1;
}

/* `at`: its place in its list, of engines that do not number calls. */
static void add_call(struct events *e, struct str json, uint64_t at)
{
    struct members members, function;
    if (!members_read(&members, json))
        return;
    const struct json_span *function_body =
                               members_get_kind(&members, "function", JSON_SPAN_OBJECT),
                           *custom = members_get_kind(&members, "custom", JSON_SPAN_OBJECT),
                           *body = function_body != NULL ? function_body : custom,
                           *id = members_get(&members, "id");
    if (body == NULL || !members_read(&function, body->raw))
        return;
    size_t index = call_at(e, members_u64(&members, "index", at));
    if (index == e->item_n)
        return;
    struct events_item *item = &e->items[index];
    const struct json_span *name = members_get(&function, "name"),
                           *arguments =
                               members_get(&function, body == custom ? "input" : "arguments");
    if (is_text(id) && item->call_id.n == 0)
        buf_put(&item->call_id, id->raw);
    if (is_text(name) && item->name.n == 0) {
        struct tool_found tool;
        tools_find(&e->tool_index, e->tools, name->raw, &tool);
        buf_put(&item->name, tool.name);
        item->namespace = tool.namespace;
        item->is_custom = tool.kind == TOOL_CUSTOM || (tool.kind == TOOL_UNKNOWN && body == custom);
        item->is_wrapped = item->is_custom && body != custom;
    }
    if (is_text(arguments))
        append(e, &item->text, arguments->raw);
    if (!item->is_added && item->name.n > 0)
        add_call_item(e, index);
    else if (item->is_added && is_text(arguments) && !item->is_wrapped)
        give_call_delta(e, index, arguments->raw);
}

static void add_message(struct events *e, const struct members *delta,
                        const struct json_span *logprobs)
{
    const struct json_span *reasoning = members_get(delta, "reasoning_content"),
                           *content = members_get(delta, "content"),
                           *refusal = members_get(delta, "refusal"),
                           *notes = members_get_kind(delta, "annotations", JSON_SPAN_LIST),
                           *calls = members_get_kind(delta, "tool_calls", JSON_SPAN_LIST);
    struct json_span call;
    uint64_t at = 0;
    if (reasoning == NULL)
        reasoning = members_get(delta, "reasoning");
    if (is_text(reasoning))
        add_thought(e, reasoning->raw);
    if (is_text(content))
        add_text(e, content->raw, logprobs);
    if (notes != NULL)
        add_annotations(e, notes);
    if (is_text(refusal))
        add_refusal(e, refusal->raw);
    if (calls != NULL)
        for (struct str rest = json_list_inside(calls); json_next_item(&rest, &call); at++)
            add_call(e, call.raw, at);
}

static void set_finish(struct events *e, const struct json_span *finish)
{
    if (finish == NULL)
        return;
    e->finish = str_eq(finish->raw, STR("length"))           ? EVENTS_TOO_LONG
                : str_eq(finish->raw, STR("content_filter")) ? EVENTS_FILTERED
                                                             : EVENTS_WHOLE;
}

static void add_choice(struct events *e, struct str json)
{
    struct members members, inner;
    const struct json_span *logprobs = NULL;
    if (!members_read(&members, json) || members_u64(&members, "index", 0) != 0)
        return;
    const struct json_span *delta = members_get_kind(&members, "delta", JSON_SPAN_OBJECT),
                           *object = members_get_kind(&members, "logprobs", JSON_SPAN_OBJECT);
    if (delta == NULL)
        delta = members_get_kind(&members, "message", JSON_SPAN_OBJECT);
    if (object != NULL && members_read(&inner, object->raw))
        logprobs = members_get_kind(&inner, "content", JSON_SPAN_LIST);
    struct json_span list = logprobs == NULL ? (struct json_span){.kind = JSON_SPAN_ABSENT}
                                             : *logprobs; /* `inner` is used again */
    if (delta != NULL && members_read(&inner, delta->raw))
        add_message(e, &inner, logprobs == NULL ? NULL : &list);
    set_finish(e, members_get_kind(&members, "finish_reason", JSON_SPAN_TEXT));
}

/* --- the response ----------------------------------------------------------------------------- */

static void begin_response(struct events *e)
{
    if (e->has_begun)
        return;
    e->has_begun = true;
    give_state(e, "response.in_progress", "in_progress", -1);
}

void events_open(struct events *e, int64_t position)
{
    e->is_open = true;
    give_state(e, "response.created", "queued", -1);
    give_state(e, "response.queued", "queued", position);
}

void events_add(struct events *e, struct str delta)
{
    struct members members;
    struct json_span choice;
    if (!members_read(&members, delta))
        return;
    usage_say(e->usage, members_get(&members, "usage"));
    const struct json_span *choices = members_get_kind(&members, "choices", JSON_SPAN_LIST);
    if (choices == NULL)
        return;
    begin_response(e);
    for (struct str rest = json_list_inside(choices); json_next_item(&rest, &choice);)
        add_choice(e, choice.raw);
}

void events_put_response(const struct events *e, struct buf *b)
{
    static const char *const details[] = {[EVENTS_WHOLE] = "null",
                                          [EVENTS_TOO_LONG] = "{\"reason\":\"max_output_tokens\"}",
                                          [EVENTS_FILTERED] = "{\"reason\":\"content_filter\"}"};
    put_object(e, b, e->finish == EVENTS_WHOLE ? "completed" : "incomplete", true);
    buf_printf(b, ",\"error\":null,\"incomplete_details\":%s,\"usage\":", details[e->finish]);
    events_put_usage(b, e->usage);
    buf_put_char(b, '}');
}

static void put_error(struct buf *b, struct str code, struct str message)
{
    buf_lit(b, ",\"error\":");
    if (message.n == 0) {
        buf_lit(b, "null");
    } else {
        buf_lit(b, "{\"code\":\"");
        buf_put(b, code);
        buf_put_char(b, '"');
        give_put_text(b, "message", message);
        buf_put_char(b, '}');
    }
    buf_lit(b, ",\"incomplete_details\":null");
}

void events_put_state(const struct events *e, struct buf *b, const char *status, struct str code,
                      struct str message)
{
    put_object(e, b, status, false);
    put_error(b, code, message);
    buf_put_char(b, '}');
}

void events_end(struct events *e, struct str finish_reason)
{
    const char *type;
    struct buf b;
    struct json_span said = {.kind = JSON_SPAN_TEXT, .raw = finish_reason};
    begin_response(e);
    if (e->finish == EVENTS_WHOLE && finish_reason.n > 0)
        set_finish(e, &said);
    if (e->item_n == 0)
        (void)message_with(e, PART_TEXT);
    size_t open = open_item(e);
    for (size_t i = 0; i < e->item_n; i++) {
        bool is_cut = e->items[i].kind == ITEM_CALL ? open == e->item_n : i == open;
        end_item(e, i, e->finish == EVENTS_WHOLE || !is_cut);
    }
    if (e->put == NULL)
        return;
    type = e->finish == EVENTS_WHOLE ? "response.completed" : "response.incomplete";
    give_begin(e, &b, type);
    buf_lit(&b, ",\"response\":");
    events_put_response(e, &b);
    give_end(e, &b, type);
}

void events_fail(struct events *e, struct str code, struct str message)
{
    struct buf b;
    const char *type = e->is_open ? "response.failed" : "error";
    if (e->put == NULL)
        return;
    if ((int64_t)e->sequence <= e->after)
        e->sequence = (uint64_t)e->after + 1;
    give_begin(e, &b, type);
    if (!e->is_open) {
        give_put_text(&b, "code", code);
        give_put_text(&b, "message", message);
        buf_lit(&b, ",\"param\":null");
        give_end(e, &b, type);
        return;
    }
    buf_lit(&b, ",\"response\":");
    put_object(e, &b, "failed", true);
    put_error(&b, STR("server_error"), message);
    buf_put_char(&b, '}');
    give_end(e, &b, type);
}
