/* SPDX-License-Identifier: MIT
 * chunks.c - see chunks.h. */
#include "services/openai/chunks.h"

static void begin(const struct chunks *c, struct buf *b)
{
    buf_put(b, c->head);
    buf_lit(b, ",\"choices\":[");
}

static void end(const struct chunks *c, struct buf *b)
{
    buf_put_char(b, ']');
    if (c->has_usage)
        buf_lit(b, ",\"usage\":null");
    buf_put_char(b, '}');
}

/* Puts what the first delta of a choice lacks. */
static void put_first(struct buf *b, const struct members *delta)
{
    bool is_empty = members_get(delta, "tool_calls") == NULL &&
                    members_get(delta, "function_call") == NULL &&
                    members_get(delta, "refusal") == NULL;
    buf_lit(b, "\"role\":\"assistant\"");
    if (members_get(delta, "content") == NULL)
        buf_put(b, is_empty ? STR(",\"content\":\"\"") : STR(",\"content\":null"));
    if (members_get(delta, "refusal") == NULL)
        buf_lit(b, ",\"refusal\":null");
}

static bool is_left_out(const struct json_member *member)
{
    static const char *const nullable[] = {"content",           "refusal",    "reasoning",
                                           "reasoning_content", "tool_calls", "function_call"};
    if (str_eq(member->name.raw, STR("role")))
        return true;
    for (size_t i = 0; i < sizeof nullable / sizeof *nullable; i++)
        if (member->value.kind == JSON_SPAN_NULL && str_eq(member->name.raw, str_of(nullable[i])))
            return true;
    return false;
}

/* vLLM sends `reasoning`, others `reasoning_content`, and each client knows one. */
static void put_twin(struct buf *b, const struct members *delta, bool is_first)
{
    const struct json_span *content = members_get(delta, "reasoning_content"),
                           *plain = members_get(delta, "reasoning");
    if ((content == NULL) == (plain == NULL))
        return;
    if (!is_first)
        buf_put_char(b, ',');
    buf_put(b, content == NULL ? STR("\"reasoning_content\":") : STR("\"reasoning\":"));
    members_put_span(b, content == NULL ? plain : content);
}

static void put_delta(struct chunks *c, struct buf *b, uint64_t index, const struct members *delta)
{
    size_t start;
    buf_lit(b, ",\"delta\":{");
    start = b->n;
    if (!c->is_seen[index])
        put_first(b, delta);
    for (size_t i = 0; i < delta->n; i++) {
        if (is_left_out(&delta->at[i]))
            continue;
        if (b->n > start)
            buf_put_char(b, ',');
        buf_put_char(b, '"');
        buf_put(b, delta->at[i].name.raw);
        buf_lit(b, "\":");
        members_put_span(b, &delta->at[i].value);
        if (!str_eq(delta->at[i].name.raw, STR("annotations"))) /* no model has written them */
            c->usage->text_bytes += delta->at[i].value.raw.n;
    }
    put_twin(b, delta, b->n == start);
    c->has_calls[index] |= members_get(delta, "tool_calls") != NULL;
    buf_put_char(b, '}');
}

static void put_finish(struct chunks *c, struct buf *b, uint64_t index,
                       const struct json_span *finish)
{
    buf_put_key(b, "finish_reason");
    if (finish == NULL || c->is_finished[index]) {
        buf_lit(b, "null");
        return;
    }
    members_put_span(b, finish);
    c->is_finished[index] = true;
}

/* Returns false if nothing was put. */
static bool put_choice(struct chunks *c, struct buf *b, struct str json, bool is_first)
{
    struct members members, delta = {.n = 0};
    uint64_t index;
    if (!members_read(&members, json) ||
        (index = members_u64(&members, "index", 0)) >= OPENAI_CHOICES_MAX)
        return false;
    const struct json_span *inner = members_get_kind(&members, "delta", JSON_SPAN_OBJECT),
                           *text = members_get_kind(&members, "text", JSON_SPAN_TEXT),
                           *logprobs = members_get(&members, "logprobs");
    if (!is_first)
        buf_put_char(b, ',');
    buf_printf(b, "{\"index\":%llu", (unsigned long long)index);
    if (c->api == OPENAI_CHAT) {
        if (inner != NULL)
            (void)members_read(&delta, inner->raw);
        put_delta(c, b, index, &delta);
    } else {
        buf_put_key(b, "text");
        if (text != NULL)
            members_put_span(b, text);
        else
            buf_lit(b, "\"\"");
        c->usage->text_bytes += text == NULL ? 0 : text->raw.n;
    }
    buf_put_key(b, "logprobs");
    if (logprobs != NULL)
        members_put_span(b, logprobs);
    else
        buf_lit(b, "null");
    put_finish(c, b, index, members_get_kind(&members, "finish_reason", JSON_SPAN_TEXT));
    buf_put_char(b, '}');
    c->is_seen[index] = true;
    return true;
}

void chunks_put(struct chunks *c, struct buf *b, struct str json)
{
    struct members members;
    struct json_span item;
    bool is_empty = true;
    size_t start = b->n;
    if (!members_read(&members, json))
        return;
    usage_say(c->usage, members_get(&members, "usage"));
    const struct json_span *choices = members_get_kind(&members, "choices", JSON_SPAN_LIST);
    if (choices == NULL)
        return;
    begin(c, b);
    for (struct str rest = json_list_inside(choices); json_next_item(&rest, &item);)
        if (put_choice(c, b, item.raw, is_empty))
            is_empty = false;
    end(c, b);
    if (is_empty)
        b->n = start;
}

void chunks_put_end(struct chunks *c, struct buf *b, struct str finish_reason)
{
    struct members nothing = {.n = 0};
    for (unsigned i = 0; i < OPENAI_CHOICES_MAX; i++) {
        bool is_due = c->is_seen[i] ? !c->is_finished[i] : i == 0;
        if (!is_due)
            continue;
        begin(c, b);
        buf_printf(b, "{\"index\":%u", i);
        if (c->api == OPENAI_CHAT)
            put_delta(c, b, i, &nothing);
        else
            buf_lit(b, ",\"text\":\"\"");
        buf_lit(b, ",\"logprobs\":null,\"finish_reason\":\"");
        buf_put(b, c->has_calls[i]       ? STR("tool_calls")
                   : finish_reason.n > 0 ? finish_reason
                                         : STR("stop"));
        buf_lit(b, "\"}");
        end(c, b);
        c->is_seen[i] = c->is_finished[i] = true;
        return;
    }
}

void chunks_put_usage(const struct chunks *c, struct buf *b)
{
    if (!c->has_usage)
        return;
    buf_put(b, c->head);
    buf_lit(b, ",\"choices\":[],\"usage\":");
    usage_put(c->usage, b, true);
    buf_put_char(b, '}');
}
