/* SPDX-License-Identifier: MIT
 * give.c - see give.h. */
#include "services/openai/responses/give.h"

enum { EVENT_MAX_BYTES = 32 << 20 };

void give_begin(struct events *e, struct buf *b, const char *type)
{
    buf_init(b, EVENT_MAX_BYTES);
    buf_printf(b, "{\"type\":\"%s\",\"sequence_number\":%llu", type,
               (unsigned long long)e->sequence++);
}

void give_end(struct events *e, struct buf *b, const char *type)
{
    buf_put_char(b, '}');
    e->is_over |= b->is_over;
    if (!b->is_over && (int64_t)e->sequence - 1 > e->after)
        e->put(e->context, type, b);
    buf_fini(b);
}

void give_begin_item(struct events *e, struct buf *b, const char *type, size_t index, int content)
{
    give_begin(e, b, type);
    buf_lit(b, ",\"item_id\":");
    events_item_put_id(b, &e->items[index], e->id, index);
    buf_printf(b, ",\"output_index\":%zu", index);
    if (content >= 0)
        buf_printf(b, ",\"content_index\":%d", content);
}

void give_item(struct events *e, const char *type, size_t index, const char *status)
{
    struct buf b;
    if (e->put == NULL)
        return;
    give_begin(e, &b, type);
    buf_printf(&b, ",\"output_index\":%zu,\"item\":", index);
    events_item_put(&b, &e->items[index], e->id, index, status,
                    str_eq(str_of(status), STR("in_progress")));
    give_end(e, &b, type);
}

static int content_of(const struct events_item *item, enum events_part part)
{
    return part == PART_REFUSAL && item->has_text ? 1 : 0;
}

void give_part(struct events *e, const char *type, size_t index, enum events_part part,
               bool is_empty)
{
    struct buf b;
    if (e->put == NULL)
        return;
    give_begin_item(e, &b, type, index, content_of(&e->items[index], part));
    buf_lit(&b, ",\"part\":");
    events_item_put_part(&b, &e->items[index], part, is_empty);
    give_end(e, &b, type);
}

/* The words of a part, or of a call's arguments. */
struct words {
    const char *delta, *done, *member;
};
static const struct words words_of_part[] = {
    [PART_REASONING] = {"response.reasoning_text.delta", "response.reasoning_text.done", "text"},
    [PART_TEXT] = {"response.output_text.delta", "response.output_text.done", "text"},
    [PART_REFUSAL] = {"response.refusal.delta", "response.refusal.done", "refusal"}};
static const struct words words_of_call = {"response.function_call_arguments.delta",
                                           "response.function_call_arguments.done", "arguments"};
static const struct words words_of_custom = {"response.custom_tool_call_input.delta",
                                             "response.custom_tool_call_input.done", "input"};

void give_put_text(struct buf *b, const char *member, struct str escaped)
{
    buf_put_key(b, member);
    buf_put_char(b, '"');
    buf_put(b, escaped);
    buf_put_char(b, '"');
}

static void give_some(struct events *e, const struct words *words, size_t index, int content,
                      struct str escaped, const struct buf *logprobs)
{
    struct buf b;
    if (e->put == NULL)
        return;
    give_begin_item(e, &b, words->delta, index, content);
    give_put_text(&b, "delta", escaped);
    if (logprobs != NULL) {
        buf_lit(&b, ",\"logprobs\":[");
        buf_put(&b, buf_str(logprobs));
        buf_put_char(&b, ']');
    }
    give_end(e, &b, words->delta);
}

void give_part_end(struct events *e, size_t index, enum events_part part)
{
    const struct events_item *item = &e->items[index];
    const struct words *words = &words_of_part[part];
    struct buf b;
    if (e->put == NULL)
        return;
    give_begin_item(e, &b, words->done, index, content_of(item, part));
    give_put_text(&b, words->member, buf_str(part == PART_REFUSAL ? &item->refusal : &item->text));
    if (part == PART_TEXT) {
        buf_lit(&b, ",\"logprobs\":[");
        buf_put(&b, buf_str(&item->logprobs));
        buf_put_char(&b, ']');
    }
    give_end(e, &b, words->done);
    give_part(e, "response.content_part.done", index, part, false);
}

void give_call_end(struct events *e, size_t index)
{
    const struct events_item *item = &e->items[index];
    const struct words *words = item->is_custom ? &words_of_custom : &words_of_call;
    bool is_bare = item->text.n == 0 && !item->is_custom;
    struct buf b;
    if (e->put == NULL)
        return;
    give_begin_item(e, &b, words->done, index, -1);
    if (!item->is_custom)
        give_put_text(&b, "name", buf_str(&item->name));
    give_put_text(&b, words->member, is_bare ? STR("{}") : buf_str(&item->text));
    give_end(e, &b, words->done);
}

void give_part_delta(struct events *e, size_t index, enum events_part part, struct str escaped,
                     const struct buf *logprobs)
{
    give_some(e, &words_of_part[part], index, content_of(&e->items[index], part), escaped,
              logprobs);
}

void give_call_delta(struct events *e, size_t index, struct str escaped)
{
    give_some(e, e->items[index].is_custom ? &words_of_custom : &words_of_call, index, -1, escaped,
              NULL);
}
