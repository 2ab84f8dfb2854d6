/* SPDX-License-Identifier: MIT
 * messages_delta.c - see messages_delta.h. */
#include "services/engine/models/messages_delta.h"

void messages_maker_init(struct messages_maker *maker, delta_callback on_delta, void *context)
{
    *maker = (struct messages_maker){.sink = {API_MESSAGES, on_delta, context}};
}

void messages_maker_fini(struct messages_maker *maker)
{
    json_decref(maker->start);
    maker->start = NULL;
}

static bool is_type(const json_t *json, const char *type)
{
    return str_eq(json_member_str(json, "type"), str_of(type));
}

/* ---- handing on ---- */

static bool hand_on(struct messages_maker *maker, const json_t *event)
{
    json_t *start = maker->start;
    bool goes_on = start == NULL || delta_hand_on(&maker->sink, start);
    maker->start = NULL;
    json_decref(start);
    return goes_on && delta_hand_on(&maker->sink, event);
}

/* Takes `event` over. */
static bool give(struct messages_maker *maker, json_t *event)
{
    if (event == NULL)
        abort();
    bool goes_on = hand_on(maker, event);
    json_decref(event);
    return goes_on;
}

/* Hands a text on as deltas of that type, piece by piece. */
static bool give_text(struct messages_maker *maker, size_t index, const char *type,
                      const char *member, struct str text)
{
    bool goes_on = true;
    while (text.n > 0 && goes_on) {
        struct str piece = delta_cut(&text);
        goes_on = give(maker, json_pack("{s:s, s:I, s:{s:s, s:o}}", "type", "content_block_delta",
                                        "index", (json_int_t)index, "delta", "type", type, member,
                                        delta_text(piece)));
    }
    return goes_on;
}

static bool fail(struct messages_maker *maker)
{
    maker->is_disordered = true;
    return false;
}

/* ---- events ---- */

static bool take_start(struct messages_maker *maker, const json_t *message)
{
    json_t *head = json_is_object(message) ? json_deep_copy(message) : json_object();
    static const char *const mine[] = {"content", "stop_reason", "stop_sequence"};
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++)
        (void)json_object_del(head, mine[i]);
    json_decref(maker->start);
    maker->start = json_pack("{s:s, s:o}", "type", "message_start", "message", head);
    if (maker->start == NULL)
        abort();
    return true;
}

static bool take_block_start(struct messages_maker *maker, const json_t *event)
{
    const json_t *block = json_object_get(event, "content_block"),
                 *index = json_object_get(event, "index");
    if (json_member_str(block, "type").n == 0 || !json_is_integer(index) ||
        json_integer_value(index) != (json_int_t)maker->block_n)
        return fail(maker);
    maker->block_n++;
    maker->half = (struct half_join){0};
    return hand_on(maker, event);
}

/* Returns whether the event is about a block that has begun. */
static bool is_about_block(const struct messages_maker *maker, const json_t *event)
{
    const json_t *index = json_object_get(event, "index");
    return json_is_integer(index) && json_integer_value(index) >= 0 &&
           json_integer_value(index) < (json_int_t)maker->block_n;
}

static const char *const texts[] = {"text", "thinking", "partial_json"};
enum { TEXTS = sizeof texts / sizeof *texts };

static bool take_block_delta(struct messages_maker *maker, const json_t *event)
{
    const json_t *delta = json_object_get(event, "delta");
    size_t index = (size_t)json_integer_value(json_object_get(event, "index"));
    if (json_member_str(delta, "type").n == 0 || !is_about_block(maker, event))
        return fail(maker);
    for (size_t i = 0; i < TEXTS && !delta_fits(event); i++) {
        json_t *text = json_incref(json_object_get(delta, texts[i]));
        struct str type = json_member_str(delta, "type");
        if (!json_is_string(text)) {
            json_decref(text);
            continue;
        }
        bool goes_on = give_text(maker, index, type.at, texts[i], json_str(text));
        json_decref(text);
        return goes_on;
    }
    return hand_on(maker, event);
}

/* ---- a whole message ---- */

/* Takes a text out of a block. The caller owns it; NULL: there is none. */
static json_t *take_text(json_t *block, const char *name)
{
    json_t *text = json_object_get(block, name);
    if (!json_is_string(text))
        return NULL;
    json_incref(text);
    delta_set(block, name, json_string(""));
    return text;
}

/* The input of a call becomes JSON in pieces of text. */
static bool give_input(struct messages_maker *maker, size_t index, const json_t *input)
{
    struct buf text;
    buf_init(&text, SIZE_MAX / 2);
    buf_put_json_value(&text, input);
    bool goes_on = give_text(maker, index, "input_json_delta", "partial_json", buf_str(&text));
    buf_fini(&text);
    return goes_on;
}

static bool give_block(struct messages_maker *maker, const json_t *given)
{
    json_t *block = json_copy((json_t *)(uintptr_t)given), *input = NULL;
    json_t *text = take_text(block, "text"), *thinking = take_text(block, "thinking");
    size_t index = maker->block_n;
    if (json_is_object(json_object_get(block, "input"))) {
        input = json_incref(json_object_get(block, "input"));
        delta_set(block, "input", json_object());
    }
    json_t *start = json_pack("{s:s, s:I, s:o}", "type", "content_block_start", "index",
                              (json_int_t)index, "content_block", block);
    bool goes_on = take_block_start(maker, start);
    json_decref(start);
    goes_on =
        goes_on && give_text(maker, index, "thinking_delta", "thinking", json_str(thinking)) &&
        give_text(maker, index, "text_delta", "text", json_str(text)) &&
        (input == NULL || give_input(maker, index, input)) &&
        give(maker,
             json_pack("{s:s, s:I}", "type", "content_block_stop", "index", (json_int_t)index));
    json_decref(text);
    json_decref(thinking);
    json_decref(input);
    return goes_on;
}

static json_t *text_or_null(const json_t *json, const char *name)
{
    json_t *value = json_object_get(json, name);
    return json_is_string(value) ? json_incref(value) : json_null();
}

static bool take_message(struct messages_maker *maker, const json_t *message)
{
    const json_t *block;
    json_t *usage = json_object_get(message, "usage");
    size_t i;
    bool goes_on = maker->block_n > 0 ? fail(maker) : take_start(maker, message);
    json_array_foreach(json_object_get(message, "content"), i, block) goes_on =
        goes_on && give_block(maker, block);
    return goes_on &&
           give(maker, json_pack("{s:s, s:{s:o, s:o}, s:O}", "type", "message_delta", "delta",
                                 "stop_reason", text_or_null(message, "stop_reason"),
                                 "stop_sequence", text_or_null(message, "stop_sequence"), "usage",
                                 json_is_object(usage) ? usage : json_null()));
}

/* ---- both ---- */

static bool feed(struct messages_maker *maker, const json_t *json)
{
    if (is_type(json, "message_start"))
        return take_start(maker, json_object_get(json, "message"));
    if (is_type(json, "content_block_start"))
        return take_block_start(maker, json);
    if (is_type(json, "content_block_delta"))
        return take_block_delta(maker, json);
    if (is_type(json, "content_block_stop"))
        return is_about_block(maker, json) ? hand_on(maker, json) : fail(maker);
    if (is_type(json, "message_delta"))
        return hand_on(maker, json);
    return !is_type(json, "message") || take_message(maker, json);
}

bool messages_maker_feed(struct messages_maker *maker, const json_t *json, bool is_repaired)
{
    if (!is_repaired && maker->half.high == 0)
        return feed(maker, json);
    json_t *joined = json_deep_copy(json), *event;
    for (size_t i = 0; i < TEXTS; i++)
        delta_join_half(json_object_get(joined, "delta"), texts[i], &maker->half, is_repaired);
    event = delta_clean(joined);
    bool goes_on = feed(maker, event);
    json_decref(joined);
    json_decref(event);
    return goes_on;
}
