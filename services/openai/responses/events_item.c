/* SPDX-License-Identifier: MIT
 * events_item.c - see events_item.h. */
#include "services/openai/responses/events_item.h"

enum { ITEM_MAX_BYTES = 8 << 20, WORD_MAX_BYTES = 1024, USAGE_MAX_BYTES = 32 << 10 };

static const char *const prefixes[] = {
    [ITEM_REASONING] = "rs_", [ITEM_MESSAGE] = "msg_", [ITEM_CALL] = "fc_"};

void events_item_init(struct events_item *item, enum events_kind kind)
{
    *item = (struct events_item){.kind = kind};
    buf_init(&item->text, ITEM_MAX_BYTES);
    buf_init(&item->refusal, ITEM_MAX_BYTES);
    buf_init(&item->name, WORD_MAX_BYTES);
    buf_init(&item->call_id, WORD_MAX_BYTES);
    buf_init(&item->logprobs, ITEM_MAX_BYTES);
    buf_init(&item->annotations, ITEM_MAX_BYTES);
}

void events_item_fini(struct events_item *item)
{
    buf_fini(&item->text);
    buf_fini(&item->refusal);
    buf_fini(&item->name);
    buf_fini(&item->call_id);
    buf_fini(&item->logprobs);
    buf_fini(&item->annotations);
}

static void put_quoted(struct buf *b, const struct buf *escaped)
{
    buf_put_char(b, '"');
    buf_put(b, buf_str(escaped));
    buf_put_char(b, '"');
}

void events_item_put_id(struct buf *b, const struct events_item *item, struct str id, size_t index)
{
    buf_printf(b, "\"%s%.*s_%zu\"", item->is_custom ? "ctc_" : prefixes[item->kind], STR_ARG(id),
               index);
}

void events_item_put_part(struct buf *b, const struct events_item *item, enum events_part part,
                          bool is_empty)
{
    static const struct buf nothing = {.at = NULL};
    const struct buf *text = is_empty               ? &nothing
                             : part == PART_REFUSAL ? &item->refusal
                                                    : &item->text;
    if (part == PART_REFUSAL) {
        buf_lit(b, "{\"type\":\"refusal\",\"refusal\":");
        put_quoted(b, text);
    } else if (part == PART_REASONING) {
        buf_lit(b, "{\"type\":\"reasoning_text\",\"text\":");
        put_quoted(b, text);
    } else {
        buf_lit(b, "{\"type\":\"output_text\",\"text\":");
        put_quoted(b, text);
        buf_lit(b, ",\"annotations\":[");
        if (!is_empty)
            buf_put(b, buf_str(&item->annotations));
        buf_lit(b, "],\"logprobs\":[");
        if (!is_empty)
            buf_put(b, buf_str(&item->logprobs));
        buf_put_char(b, ']');
    }
    buf_put_char(b, '}');
}

static void put_content(struct buf *b, const struct events_item *item, bool is_empty)
{
    buf_lit(b, ",\"content\":[");
    if (!is_empty && item->kind == ITEM_REASONING)
        events_item_put_part(b, item, PART_REASONING, false);
    if (!is_empty && item->has_text)
        events_item_put_part(b, item, PART_TEXT, false);
    if (!is_empty && item->has_text && item->has_refusal)
        buf_put_char(b, ',');
    if (!is_empty && item->has_refusal)
        events_item_put_part(b, item, PART_REFUSAL, false);
    buf_put_char(b, ']');
}

void events_item_put(struct buf *b, const struct events_item *item, struct str id, size_t index,
                     const char *status, bool is_empty)
{
    buf_lit(b, "{\"id\":");
    events_item_put_id(b, item, id, index);
    if (item->kind == ITEM_CALL) {
        buf_printf(b, ",\"type\":\"%s\",\"status\":\"%s\",\"call_id\":",
                   item->is_custom ? "custom_tool_call" : "function_call", status);
        put_quoted(b, &item->call_id);
        buf_lit(b, ",\"name\":");
        put_quoted(b, &item->name);
        if (item->namespace.n > 0)
            buf_printf(b, ",\"namespace\":\"%.*s\"", STR_ARG(item->namespace));
        buf_put_key(b, item->is_custom ? "input" : "arguments");
        if (is_empty || (item->text.n == 0 && item->is_custom))
            buf_lit(b, "\"\"");
        else if (item->text.n == 0)
            buf_lit(b, "\"{}\"");
        else
            put_quoted(b, &item->text);
    } else if (item->kind == ITEM_MESSAGE) {
        buf_printf(b, ",\"type\":\"message\",\"status\":\"%s\",\"role\":\"assistant\"", status);
        put_content(b, item, is_empty);
    } else {
        buf_printf(b, ",\"type\":\"reasoning\",\"status\":\"%s\",\"summary\":[]", status);
        put_content(b, item, is_empty);
    }
    buf_put_char(b, '}');
}

/* --- what chats have in another shape --------------------------------------------------------- */

static bool put_logprob(struct buf *b, struct str json, bool has_top)
{
    struct members members;
    struct json_span item;
    if (!members_read(&members, json))
        return false;
    const struct json_span *token = members_get_kind(&members, "token", JSON_SPAN_TEXT),
                           *logprob = members_get_kind(&members, "logprob", JSON_SPAN_NUMBER),
                           *bytes = members_get_kind(&members, "bytes", JSON_SPAN_LIST),
                           *top = members_get_kind(&members, "top_logprobs", JSON_SPAN_LIST);
    if (token == NULL || logprob == NULL)
        return false;
    buf_lit(b, "{\"token\":");
    members_put_span(b, token);
    buf_lit(b, ",\"logprob\":");
    members_put_span(b, logprob);
    buf_lit(b, ",\"bytes\":");
    buf_put(b, bytes == NULL ? STR("[]") : bytes->raw);
    if (has_top) {
        bool is_first = true;
        buf_lit(b, ",\"top_logprobs\":[");
        for (struct str rest = top == NULL ? STR("") : json_list_inside(top);
             json_next_item(&rest, &item);) {
            size_t start = b->n;
            if (!is_first)
                buf_put_char(b, ',');
            if (put_logprob(b, item.raw, false))
                is_first = false;
            else
                b->n = start;
        }
        buf_put_char(b, ']');
    }
    buf_put_char(b, '}');
    return true;
}

void events_put_logprobs(struct buf *b, const struct json_span *list)
{
    struct json_span item;
    bool is_first = true;
    for (struct str rest = json_list_inside(list); json_next_item(&rest, &item);) {
        size_t start = b->n;
        if (!is_first)
            buf_put_char(b, ',');
        if (put_logprob(b, item.raw, true))
            is_first = false;
        else
            b->n = start;
    }
}

bool events_put_annotation(struct buf *b, struct str json)
{
    struct members members, inner;
    if (!members_read(&members, json))
        return false;
    const struct json_span *cited = members_get_kind(&members, "url_citation", JSON_SPAN_OBJECT);
    if (cited == NULL || !members_read(&inner, cited->raw))
        return false;
    buf_lit(b, "{\"type\":\"url_citation\"");
    for (size_t i = 0; i < inner.n; i++) {
        buf_lit(b, ",\"");
        buf_put(b, inner.at[i].name.raw);
        buf_lit(b, "\":");
        members_put_span(b, &inner.at[i].value);
    }
    buf_put_char(b, '}');
    return true;
}

static uint64_t detail(const struct members *usage, const char *of, const char *name)
{
    struct members details;
    const struct json_span *object = members_get_kind(usage, of, JSON_SPAN_OBJECT);
    return object != NULL && members_read(&details, object->raw) ? members_u64(&details, name, 0)
                                                                 : 0;
}

void events_put_usage(struct buf *b, const struct usage *usage)
{
    struct members members;
    struct buf chat;
    buf_init(&chat, USAGE_MAX_BYTES);
    usage_put(usage, &chat, true);
    (void)members_read(&members, buf_str(&chat));
    buf_printf(
        b,
        "{\"input_tokens\":%llu,\"input_tokens_details\":{\"cached_tokens\":%llu,"
        "\"cache_write_tokens\":0},\"output_tokens\":%llu,\"output_tokens_details\":"
        "{\"reasoning_tokens\":%llu},\"total_tokens\":%llu}",
        (unsigned long long)members_u64(&members, "prompt_tokens", 0),
        (unsigned long long)detail(&members, "prompt_tokens_details", "cached_tokens"),
        (unsigned long long)members_u64(&members, "completion_tokens", 0),
        (unsigned long long)detail(&members, "completion_tokens_details", "reasoning_tokens"),
        (unsigned long long)members_u64(&members, "total_tokens", 0));
    buf_fini(&chat);
}
