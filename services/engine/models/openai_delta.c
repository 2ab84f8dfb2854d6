/* SPDX-License-Identifier: MIT
 * openai_delta.c - see openai_delta.h. */
#include "services/engine/models/openai_delta.h"

#include "services/engine/models/openai_piece.h"

#include "shared/base/mem.h"

#include <stdio.h>

enum { CHOICES_MAX = 128, TOOLS_MAX = 256, ID_RANDOM_BYTES = 12 };

/* The texts of a delta that a server may cut within a character. */
enum text_kind { TEXT_CONTENT, TEXT_REASONING_CONTENT, TEXT_REASONING, TEXT_REFUSAL, TEXT_NR };
static const char *const text_names[TEXT_NR] = {"content", "reasoning_content", "reasoning",
                                                "refusal"};

struct delta_tool {
    bool is_seen, has_arguments;
    struct half_join half;
};

struct delta_choice {
    bool is_seen, has_delta, is_finished;
    bool has_function;        /* the older form of a tool call */
    struct delta_tool *tools; /* by index */
    size_t tool_n;
    struct half_join halves[TEXT_NR];
};

void delta_maker_init(struct delta_maker *maker, enum api api, delta_callback on_delta,
                      void *context)
{
    *maker = (struct delta_maker){.sink = {api, on_delta, context}, .choice_max = CHOICES_MAX};
}

void delta_maker_fini(struct delta_maker *maker)
{
    for (size_t i = 0; i < maker->choice_n; i++)
        free(maker->choices[i].tools);
    free(maker->choices);
    *maker = (struct delta_maker){0};
}

/* ---- JSON ---- */

static json_t *copy_object(const json_t *object)
{
    json_t *copy = json_is_object(object) ? json_copy((json_t *)(uintptr_t)object) : json_object();
    if (copy == NULL)
        abort();
    return copy;
}

/* ---- tool calls ---- */

/* NULL: there are too many. */
static struct delta_tool *tool_at(struct delta_choice *choice, size_t index, bool *ret_is_new)
{
    if (index >= TOOLS_MAX)
        return NULL;
    while (index >= choice->tool_n) {
        choice->tools = mem_grow(choice->tools, choice->tool_n, sizeof *choice->tools);
        choice->tools[choice->tool_n++] = (struct delta_tool){0};
    }
    *ret_is_new = !choice->tools[index].is_seen;
    choice->tools[index].is_seen = true;
    return &choice->tools[index];
}

/* Pieces of a call that have no index belong to the last call, unless they begin one. */
static size_t index_of_call(const struct delta_choice *choice, const json_t *call)
{
    const json_t *index = json_object_get(call, "index");
    if (json_is_integer(index) && json_integer_value(index) >= 0)
        return (size_t)json_integer_value(index);
    bool is_begun = json_member_str(call, "id").n > 0 ||
                    json_member_str(json_object_get(call, "function"), "name").n > 0 ||
                    json_member_str(json_object_get(call, "custom"), "name").n > 0;
    return is_begun || choice->tool_n == 0 ? choice->tool_n : choice->tool_n - 1;
}

/* Makes the arguments of a call a string. Some servers send the object itself. */
static void write_arguments(json_t *function, bool is_new)
{
    const json_t *arguments = json_object_get(function, "arguments");
    struct buf text;
    if (json_is_object(arguments) || json_is_array(arguments)) {
        buf_init(&text, SIZE_MAX / 2);
        buf_put_json_value(&text, arguments);
        delta_set(function, "arguments", delta_text(buf_str(&text)));
        buf_fini(&text);
    } else if (!json_is_string(arguments) && is_new) {
        delta_set(function, "arguments", json_string(""));
    } else if (!json_is_string(arguments)) {
        json_object_del(function, "arguments");
    }
}

static bool is_custom(const json_t *call)
{
    return json_is_object(json_object_get(call, "custom"));
}

static void name_call(json_t *call, bool is_new)
{
    char id[sizeof "call_" + 2 * ID_RANDOM_BYTES] = "call_";
    bool has_id = json_member_str(call, "id").n > 0;
    if (!is_new && !has_id)
        json_object_del(call, "id");
    if (!is_new)
        return;
    if (!has_id) {
        str_random_hex(ID_RANDOM_BYTES, id + strlen(id));
        delta_set(call, "id", json_string(id));
    }
    if (json_member_str(call, "type").n == 0)
        delta_set(call, "type", json_string(is_custom(call) ? "custom" : "function"));
}

/* Its input is any text, and may be empty. */
static void make_input(struct delta_tool *tool, json_t *call, bool is_repaired)
{
    json_t *custom = copy_object(json_object_get(call, "custom"));
    delta_join_half(custom, "input", &tool->half, is_repaired);
    tool->has_arguments = true;
    delta_set(call, "custom", custom);
}

static void make_arguments(struct delta_tool *tool, json_t *call, bool is_new, bool is_repaired)
{
    json_t *function = copy_object(json_object_get(call, "function"));
    write_arguments(function, is_new);
    delta_join_half(function, "arguments", &tool->half, is_repaired);
    tool->has_arguments = tool->has_arguments || json_member_str(function, "arguments").n > 0;
    delta_set(call, "function", function);
}

/* NULL: it is dropped. */
static json_t *make_call(struct delta_choice *choice, const json_t *given, bool is_repaired)
{
    bool is_new;
    size_t index = index_of_call(choice, given);
    struct delta_tool *tool = json_is_object(given) ? tool_at(choice, index, &is_new) : NULL;
    if (tool == NULL)
        return NULL;
    json_t *call = copy_object(given);
    delta_set(call, "index", json_integer((json_int_t)index));
    name_call(call, is_new);
    if (is_custom(call))
        make_input(tool, call, is_repaired);
    else
        make_arguments(tool, call, is_new, is_repaired);
    return call;
}

static void make_calls(struct delta_choice *choice, json_t *delta, bool is_repaired)
{
    json_t *given = json_incref(json_object_get(delta, "tool_calls")), *item;
    json_t *calls = json_array();
    size_t i;
    json_array_foreach(given, i, item)
    {
        json_t *call = make_call(choice, item, is_repaired);
        if (call != NULL)
            delta_append(calls, call);
    }
    if (json_array_size(calls) > 0)
        delta_set(delta, "tool_calls", calls);
    else
        json_decref(calls);
    if (json_array_size(given) == 0)
        json_object_del(delta, "tool_calls");
    json_decref(given);
    if (json_is_object(json_object_get(delta, "function_call"))) {
        json_t *function = copy_object(json_object_get(delta, "function_call"));
        write_arguments(function, !choice->has_function);
        choice->has_function = true;
        delta_set(delta, "function_call", function);
    }
}

/* Calls without arguments get the empty object: no text is not JSON. */
static void put_missing_arguments(const struct delta_choice *choice, json_t *delta)
{
    for (size_t i = 0; i < choice->tool_n; i++) {
        if (!choice->tools[i].is_seen || choice->tools[i].has_arguments)
            continue;
        if (!json_is_array(json_object_get(delta, "tool_calls")))
            delta_set(delta, "tool_calls", json_array());
        delta_append(
            json_object_get(delta, "tool_calls"),
            json_pack("{s:I, s:{s:s}}", "index", (json_int_t)i, "function", "arguments", "{}"));
    }
}

/* ---- choices ---- */

static struct delta_choice *choice_at(struct delta_maker *maker, size_t index)
{
    if (index >= maker->choice_max)
        return NULL;
    while (index >= maker->choice_n) {
        maker->choices = mem_grow(maker->choices, maker->choice_n, sizeof *maker->choices);
        maker->choices[maker->choice_n++] = (struct delta_choice){0};
    }
    maker->choices[index].is_seen = true;
    return &maker->choices[index];
}

/* Content in parts becomes a text, and thoughts among them a member of their own. */
static void join_parts(json_t *delta)
{
    const json_t *content = json_object_get(delta, "content");
    struct buf think, answer;
    if (!json_is_array(content) && !json_is_object(content))
        return;
    buf_init(&think, SIZE_MAX / 2);
    buf_init(&answer, SIZE_MAX / 2);
    openai_put_texts(delta, &think, &answer);
    bool has_thoughts = json_member_str(delta, "reasoning").n > 0 ||
                        json_member_str(delta, "reasoning_content").n > 0;
    if (think.n > 0 && !has_thoughts)
        delta_set(delta, "reasoning_content", delta_text(buf_str(&think)));
    delta_set(delta, "content", delta_text(buf_str(&answer)));
    buf_fini(&think);
    buf_fini(&answer);
}

static bool says_something(const json_t *delta)
{
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)delta, name, value)
    {
        bool is_text = json_is_string(value) || json_is_null(value);
        if (strcmp(name, "role") != 0 && !(is_text && json_string_length(value) == 0))
            return true;
    }
    return false;
}

static json_t *make_delta(struct delta_choice *choice, const json_t *given, bool is_repaired)
{
    const json_t *source = json_object_get(given, "delta");
    bool is_message = !json_is_object(source);
    if (is_message)
        source = json_object_get(given, "message");
    if (is_message && choice->has_delta)
        return copy_object(NULL); /* all of it once more */
    json_t *delta = copy_object(source);
    join_parts(delta);
    make_calls(choice, delta, is_repaired);
    for (size_t k = 0; k < TEXT_NR; k++)
        delta_join_half(delta, text_names[k], &choice->halves[k], is_repaired);
    choice->has_delta = choice->has_delta || (!is_message && says_something(delta));
    return delta;
}

static json_t *make_text(struct delta_choice *choice, const json_t *given, bool is_repaired)
{
    json_t *text = copy_object(NULL);
    delta_set(text, "text", delta_text(json_member_str(given, "text")));
    delta_join_half(text, "text", &choice->halves[TEXT_CONTENT], is_repaired);
    return text;
}

/* Null: the choice has not ended. */
static json_t *make_finish(struct delta_choice *choice, struct str reason)
{
    /* A server that gives up has not ended its text. */
    if (reason.n == 0 || openai_is_failure(reason))
        return json_null();
    const char *word = openai_known_finish(reason);
    choice->is_finished = true;
    if (strcmp(word, "stop") == 0 && choice->tool_n > 0)
        word = "tool_calls";
    else if (strcmp(word, "stop") == 0 && choice->has_function)
        word = "function_call";
    return json_string(word);
}

/* NULL: it says nothing. */
static json_t *make_choice(struct delta_maker *maker, const json_t *given, size_t index,
                           bool is_repaired)
{
    struct delta_choice *state = choice_at(maker, index);
    if (state == NULL || state->is_finished)
        return NULL;
    json_t *choice = copy_object(given), *text;
    json_object_del(choice, "message");
    delta_set(choice, "index", json_integer((json_int_t)index));
    if (maker->sink.api == API_COMPLETIONS) {
        text = make_text(state, given, is_repaired);
        json_object_update(choice, text);
    } else {
        text = make_delta(state, given, is_repaired);
        delta_set(choice, "delta", json_incref(text));
    }
    bool is_new = says_something(text) || json_is_object(json_object_get(choice, "logprobs"));
    delta_set(choice, "finish_reason",
              make_finish(state, str_trim(json_member_str(given, "finish_reason"))));
    if (state->is_finished && maker->sink.api == API_CHAT)
        put_missing_arguments(state, text);
    json_decref(text);
    if (is_new || state->is_finished)
        return choice;
    json_decref(choice);
    return NULL;
}

static size_t index_of_choice(const json_t *choice, size_t usual)
{
    const json_t *index = json_object_get(choice, "index");
    double value = json_number_value(index);
    if (index == NULL || json_is_null(index))
        return usual;
    return json_is_number(index) && value >= 0 && value < CHOICES_MAX ? (size_t)value : CHOICES_MAX;
}

/* ---- deltas ---- */

bool delta_maker_feed(struct delta_maker *maker, const json_t *json, bool is_repaired)
{
    const json_t *given, *usage = json_object_get(json, "usage");
    json_t *choices = json_array(), *delta = json_object();
    size_t i;
    json_array_foreach(json_object_get(json, "choices"), i, given)
    {
        json_t *choice = make_choice(maker, given, index_of_choice(given, i), is_repaired);
        if (choice != NULL)
            delta_append(choices, choice);
    }
    bool has_usage = json_is_object(usage), is_empty = json_array_size(choices) == 0 && !has_usage;
    delta_set(delta, "choices", choices);
    if (has_usage)
        delta_set(delta, "usage", json_incref((json_t *)(uintptr_t)usage));
    if (is_repaired) {
        json_t *marked = delta;
        delta = delta_clean(marked);
        json_decref(marked);
    }
    bool goes_on = is_empty || delta_put(&maker->sink, delta);
    json_decref(delta);
    return goes_on;
}

bool delta_maker_has_ended(const struct delta_maker *maker)
{
    for (size_t i = 0; i < maker->choice_n; i++)
        if (maker->choices[i].is_seen && !maker->choices[i].is_finished)
            return false;
    return maker->choice_n > 0;
}

bool delta_maker_finish(struct delta_maker *maker)
{
    bool goes_on = true;
    for (size_t i = 0; i < maker->choice_n && goes_on; i++) {
        if (!maker->choices[i].is_seen || maker->choices[i].is_finished)
            continue;
        json_t *json = json_pack("{s:[{s:I, s:s}]}", "choices", "index", (json_int_t)i,
                                 "finish_reason", "stop");
        goes_on = delta_maker_feed(maker, json, false);
        json_decref(json);
    }
    return goes_on;
}
