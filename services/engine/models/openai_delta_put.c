/* SPDX-License-Identifier: MIT
 * openai_delta_put.c - see openai_delta_put.h. A model server that does not stream sends all at
 * once. Each of its choices becomes
 *
 *   pieces of its texts; pieces of its logprobs; all else, without long arguments; pieces of these;
 *   the finish_reason
 *
 * and the usage comes last. */
#include "services/engine/models/openai_delta_put.h"

#include "shared/text/fit.h"

enum { PIECE_MAX_BYTES = 32 << 10, LOGPROBS_MAX = 64 };

void delta_set(json_t *object, const char *name, json_t *value)
{
    if (value == NULL || json_object_set_new(object, name, value) != 0)
        abort();
}

json_t *delta_text(struct str text)
{
    return json_stringn(text.at == NULL ? "" : text.at, text.n);
}

void delta_append(json_t *list, json_t *value)
{
    if (value == NULL || json_array_append_new(list, value) != 0)
        abort();
}

bool delta_hand_on(const struct delta_sink *sink, const json_t *delta)
{
    struct buf text;
    buf_init(&text, DELTA_MAX_BYTES);
    buf_put_json_value(&text, delta);
    bool goes_on = !text.is_over && sink->on_delta(sink->context, buf_str(&text));
    buf_fini(&text);
    return goes_on;
}

bool delta_fits(const json_t *delta)
{
    struct buf text;
    buf_init(&text, DELTA_MAX_BYTES);
    buf_put_json_value(&text, delta);
    bool is_fit = !text.is_over;
    buf_fini(&text);
    return is_fit;
}

/* ---- halves of characters ---- */

void delta_join_half(json_t *object, const char *name, struct half_join *half, bool is_repaired)
{
    struct str text = json_member_str(object, name);
    struct buf joined;
    if (text.at == NULL || (!is_repaired && half->high == 0))
        return;
    buf_init(&joined, SIZE_MAX / 2);
    half_join_feed(half, text, is_repaired, &joined);
    delta_set(object, name, delta_text(buf_str(&joined)));
    buf_fini(&joined);
}

json_t *delta_clean(const json_t *value)
{
    const char *name;
    const json_t *item;
    json_t *copy;
    size_t i;
    if (json_is_string(value)) {
        struct half_join half = {0};
        struct buf text;
        buf_init(&text, SIZE_MAX / 2);
        half_join_feed(&half, json_str(value), true, &text);
        half_join_finish(&half, &text);
        copy = delta_text(buf_str(&text));
        buf_fini(&text);
    } else if (json_is_array(value)) {
        copy = json_array();
        json_array_foreach(value, i, item) delta_append(copy, delta_clean(item));
    } else if (json_is_object(value)) {
        copy = json_object();
        json_object_foreach((json_t *)(uintptr_t)value, name, item)
            delta_set(copy, name, delta_clean(item));
    } else {
        copy = json_incref((json_t *)(uintptr_t)value);
    }
    if (copy == NULL)
        abort();
    return copy;
}

/* ---- choices ---- */

static bool hand_on_choice(const struct delta_sink *sink, json_t *choice)
{
    json_t *delta = json_pack("{s:[O]}", "choices", choice);
    bool goes_on = delta_hand_on(sink, delta);
    json_decref(delta);
    return goes_on;
}

/* A choice with nothing but its index. Of completions its text is empty. */
static json_t *bare_choice(const struct delta_sink *sink, const json_t *choice)
{
    json_t *bare =
        json_pack("{s:O, s:n}", "index", json_object_get(choice, "index"), "finish_reason");
    if (sink->api == API_COMPLETIONS)
        delta_set(bare, "text", json_string(""));
    else
        delta_set(bare, "delta", json_object());
    return bare;
}

struct str delta_cut(struct str *rest)
{
    struct str piece = {rest->at,
                        text_floor(*rest, rest->n < PIECE_MAX_BYTES ? rest->n : PIECE_MAX_BYTES)};
    *rest = (struct str){rest->at + piece.n, rest->n - piece.n};
    return piece;
}

/* Takes the text out of `object`, and hands it on as that member of `into`, piece by piece.
 * `carrier` holds `into`. */
static bool hand_on_text(const struct delta_sink *sink, json_t *object, const char *name,
                         json_t *carrier, json_t *into)
{
    json_t *text = json_incref(json_object_get(object, name));
    struct str rest = json_str(text);
    bool goes_on = true;
    if (rest.n <= PIECE_MAX_BYTES) {
        json_decref(text);
        return true;
    }
    delta_set(object, name, json_string(""));
    while (rest.n > 0 && goes_on) {
        delta_set(into, name, delta_text(delta_cut(&rest)));
        goes_on = hand_on_choice(sink, carrier);
    }
    json_decref(text);
    return goes_on;
}

static bool hand_on_texts(const struct delta_sink *sink, json_t *choice)
{
    static const char *const names[] = {"reasoning_content", "reasoning", "content", "refusal"};
    json_t *delta = json_object_get(choice, "delta");
    bool goes_on = true;
    if (sink->api == API_COMPLETIONS) {
        json_t *bare = bare_choice(sink, choice);
        goes_on = hand_on_text(sink, choice, "text", bare, bare);
        json_decref(bare);
        return goes_on;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names && goes_on; i++) {
        json_t *bare = bare_choice(sink, choice);
        goes_on = hand_on_text(sink, delta, names[i], bare, json_object_get(bare, "delta"));
        json_decref(bare);
    }
    return goes_on;
}

/* Those of chat are lists of objects. */
static bool hand_on_logprobs(const struct delta_sink *sink, json_t *choice, const char *name)
{
    json_t *logprobs = json_object_get(choice, "logprobs");
    json_t *list = json_incref(json_object_get(logprobs, name));
    size_t n = json_array_size(list);
    bool goes_on = true;
    if (n > LOGPROBS_MAX) {
        delta_set(choice, "logprobs", logprobs = json_copy(logprobs));
        delta_set(logprobs, name, json_array());
    }
    for (size_t from = 0; from < n && n > LOGPROBS_MAX && goes_on; from += LOGPROBS_MAX) {
        json_t *some = json_array(), *bare = bare_choice(sink, choice);
        for (size_t i = from; i < n && i < from + LOGPROBS_MAX; i++)
            delta_append(some, json_incref(json_array_get(list, i)));
        delta_set(bare, "logprobs", json_pack("{s:o}", name, some));
        goes_on = hand_on_choice(sink, bare);
        json_decref(bare);
    }
    json_decref(list);
    return goes_on;
}

/* Where a call has its text. */
static const char *kind_of(const json_t *call)
{
    return json_is_object(json_object_get(call, "custom")) ? "custom" : "function";
}

static const char *name_of(const json_t *call)
{
    return json_is_object(json_object_get(call, "custom")) ? "input" : "arguments";
}

/* The call was handed on with empty arguments. */
static bool hand_on_arguments(const struct delta_sink *sink, const json_t *choice,
                              const json_t *call, json_t *arguments)
{
    json_t *bare = bare_choice(sink, choice), *into = json_object();
    json_t *source = json_pack("{s:O}", name_of(call), arguments);
    delta_set(
        json_object_get(bare, "delta"), "tool_calls",
        json_pack("[{s:O, s:o}]", "index", json_object_get(call, "index"), kind_of(call), into));
    bool goes_on = hand_on_text(sink, source, name_of(call), bare, into);
    json_decref(source);
    json_decref(bare);
    return goes_on;
}

/* Takes long arguments out of the calls. Returns them, or null, in order. */
static json_t *take_arguments(json_t *choice)
{
    json_t *calls = json_object_get(json_object_get(choice, "delta"), "tool_calls"), *call;
    json_t *taken = json_array();
    size_t i;
    json_array_foreach(calls, i, call)
    {
        json_t *body = json_object_get(call, kind_of(call));
        json_t *arguments = json_object_get(body, name_of(call));
        bool is_long = json_string_length(arguments) > PIECE_MAX_BYTES;
        delta_append(taken, is_long ? json_incref(arguments) : json_null());
        if (is_long)
            delta_set(body, name_of(call), json_string(""));
    }
    return taken;
}

static bool hand_on_rest(const struct delta_sink *sink, json_t *choice)
{
    json_t *finish = json_incref(json_object_get(choice, "finish_reason"));
    json_t *taken = take_arguments(choice), *arguments, *last = bare_choice(sink, choice);
    size_t i;
    delta_set(choice, "finish_reason", json_null());
    bool goes_on = hand_on_choice(sink, choice);
    json_array_foreach(taken, i, arguments)
    {
        const json_t *calls = json_object_get(json_object_get(choice, "delta"), "tool_calls");
        if (json_is_string(arguments) && goes_on)
            goes_on = hand_on_arguments(sink, choice, json_array_get(calls, i), arguments);
    }
    if (json_is_string(finish) && goes_on) {
        delta_set(last, "finish_reason", json_incref(finish));
        goes_on = hand_on_choice(sink, last);
    }
    json_decref(last);
    json_decref(taken);
    json_decref(finish);
    return goes_on;
}

static bool split(const struct delta_sink *sink, json_t *delta)
{
    json_t *usage = json_object_get(delta, "usage"), *choice;
    bool goes_on = true;
    size_t i;
    json_array_foreach(json_object_get(delta, "choices"), i, choice)
    {
        goes_on = goes_on && hand_on_texts(sink, choice) &&
                  hand_on_logprobs(sink, choice, "content") &&
                  hand_on_logprobs(sink, choice, "refusal") && hand_on_rest(sink, choice);
    }
    if (usage == NULL || !goes_on)
        return goes_on;
    json_t *last = json_pack("{s:[], s:O}", "choices", "usage", usage);
    goes_on = delta_hand_on(sink, last);
    json_decref(last);
    return goes_on;
}

bool delta_put(const struct delta_sink *sink, json_t *delta)
{
    return delta_fits(delta) ? delta_hand_on(sink, delta) : split(sink, delta);
}
