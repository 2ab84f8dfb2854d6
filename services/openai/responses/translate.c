/* SPDX-License-Identifier: MIT
 * translate.c - see translate.h. Texts are copied as they are escaped. translate_input.c has the
 * items of `input`. */
#include "services/openai/responses/translate.h"

#include "services/openai/responses/tools.h"

enum { REQUEST_MEMBERS_MAX = 128, TOP_LOGPROBS_MAX = 20 };

/* --- tools ------------------------------------------------------------------------------------ */

static void put_members(struct translation *t, const struct members *from,
                        const char *const names[])
{
    bool is_first = true;
    for (size_t i = 0; names[i] != NULL; i++) {
        const struct json_span *value = members_get(from, names[i]);
        if (value == NULL)
            continue;
        buf_put(t->b, is_first ? STR("\"") : STR(",\""));
        buf_put(t->b, str_of(names[i]));
        buf_lit(t->b, "\":");
        members_put_span(t->b, value);
        is_first = false;
    }
}

static bool is_text(const struct json_span *value, const char *text)
{
    return value != NULL && value->kind == JSON_SPAN_TEXT && str_eq(value->raw, str_of(text));
}

/* Many engines do not know it: theirs gets only these tools. */
static bool put_allowed(struct translation *t, const struct members *choice)
{
    const struct json_span *mode = members_get(choice, "mode");
    if (!is_text(mode, "auto") && !is_text(mode, "required"))
        return translate_fail(t, ".mode", "auto or required");
    if (!t->has_allowed || str_trim(json_list_inside(&t->allowed)).n == 0)
        return translate_fail(t, ".tools", "a list that is not empty");
    if (!tools_check_allowed(t))
        return false;
    buf_put_key(t->b, "tool_choice");
    members_put_span(t->b, mode);
    return true;
}

/* Notes which tools there are, and which of them may be called. */
static void note_tools(struct translation *t, const struct json_member *member)
{
    const struct json_span *value = &member->value, *list = NULL;
    struct members choice;
    if (str_eq(member->name.raw, STR("tools")))
        t->tools = value->kind == JSON_SPAN_LIST ? value : NULL;
    if (!str_eq(member->name.raw, STR("tool_choice")))
        return;
    if (value->kind == JSON_SPAN_OBJECT && members_read(&choice, value->raw) &&
        is_text(members_get(&choice, "type"), "allowed_tools"))
        list = members_get_kind(&choice, "tools", JSON_SPAN_LIST);
    t->has_allowed = list != NULL;
    if (list != NULL)
        t->allowed = *list;
}

static bool put_tool_choice(struct translation *t, const struct json_span *choice)
{
    struct members members;
    translate_at(t, "tool_choice");
    if (choice->kind == JSON_SPAN_TEXT) {
        buf_put_key(t->b, "tool_choice");
        members_put_span(t->b, choice);
        return true;
    }
    if (!members_read(&members, choice->raw))
        return translate_fail(t, "", "\"none\", \"auto\", \"required\" or a function");
    const struct json_span *type = members_get(&members, "type"),
                           *name = members_get_kind(&members, "name", JSON_SPAN_TEXT);
    if (is_text(type, "allowed_tools"))
        return put_allowed(t, &members);
    if (!is_text(type, "function") && !is_text(type, "custom"))
        return translate_fail_type(t, ".type", type, "function, custom or allowed_tools");
    if (name == NULL)
        return translate_fail(t, ".name", "a text");
    buf_lit(t->b, ",\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":");
    members_put_span(t->b, name);
    buf_lit(t->b, "}}");
    return true;
}

/* --- other members ---------------------------------------------------------------------------- */

static bool put_format(struct translation *t, const struct json_span *format)
{
    static const char *const names[] = {"name", "description", "schema", "strict", NULL};
    struct members members;
    if (!members_read(&members, format->raw))
        return translate_fail(t, ".format", "an object");
    const struct json_span *type = members_get_kind(&members, "type", JSON_SPAN_TEXT);
    if (type == NULL)
        return translate_fail(t, ".format.type", "a text");
    if (str_eq(type->raw, STR("text")))
        return true;
    buf_lit(t->b, ",\"response_format\":{\"type\":");
    members_put_span(t->b, type);
    if (str_eq(type->raw, STR("json_schema"))) {
        buf_lit(t->b, ",\"json_schema\":{");
        put_members(t, &members, names);
        buf_put_char(t->b, '}');
    }
    buf_put_char(t->b, '}');
    return true;
}

static bool put_text(struct translation *t, const struct json_span *text)
{
    struct members members;
    translate_at(t, "text");
    if (!members_read(&members, text->raw))
        return translate_fail(t, "", "an object");
    const struct json_span *format = members_get(&members, "format"),
                           *verbosity = members_get(&members, "verbosity");
    if (verbosity != NULL) {
        buf_put_key(t->b, "verbosity");
        members_put_span(t->b, verbosity);
    }
    return format == NULL || put_format(t, format);
}

static bool put_reasoning(struct translation *t, const struct json_span *reasoning)
{
    struct members members;
    translate_at(t, "reasoning");
    if (!members_read(&members, reasoning->raw))
        return translate_fail(t, "", "an object");
    const struct json_span *effort = members_get(&members, "effort");
    if (effort == NULL)
        return true;
    buf_put_key(t->b, "reasoning_effort");
    members_put_span(t->b, effort);
    return true;
}

static bool put_limit(struct translation *t, const struct json_span *limit)
{
    uint64_t tokens;
    translate_at(t, "max_output_tokens");
    if (limit->kind != JSON_SPAN_NUMBER || !str_parse_u64(limit->raw, &tokens) || tokens == 0)
        return translate_fail(t, "", "a whole number from 1");
    buf_printf(t->b, ",\"max_completion_tokens\":%llu", (unsigned long long)tokens);
    return true;
}

static bool put_include(struct translation *t, const struct json_span *include)
{
    struct json_span item;
    translate_at(t, "include");
    if (include->kind != JSON_SPAN_LIST)
        return translate_fail(t, "", "a list");
    for (struct str rest = json_list_inside(include); json_next_item(&rest, &item);)
        t->has_logprobs |= str_eq(item.raw, STR("message.output_text.logprobs"));
    return true;
}

static bool put_top_logprobs(struct translation *t, const struct json_span *top)
{
    uint64_t n;
    translate_at(t, "top_logprobs");
    if (top->kind != JSON_SPAN_NUMBER || !str_parse_u64(top->raw, &n) || n > TOP_LOGPROBS_MAX)
        return translate_fail(t, "", "a whole number from 0 to 20");
    if (n == 0)
        return true;
    buf_printf(t->b, ",\"top_logprobs\":%llu", (unsigned long long)n);
    t->has_logprobs = true;
    return true;
}

static bool refuse_prompt(struct translation *t, const struct json_span *value)
{
    (void)value;
    translate_at(t, "prompt");
    return translate_fail(t, "", "absent: this server keeps no prompts");
}

static bool refuse_conversation(struct translation *t, const struct json_span *value)
{
    (void)value;
    translate_at(t, "conversation");
    return translate_fail(t, "", "absent: this server keeps no conversations");
}

/* Members that are translated, or (NULL) are for the node alone. */
static const struct rule {
    const char *name;
    bool (*put)(struct translation *t, const struct json_span *value);
} rules[] = {
    {"background", NULL},
    {"client_metadata", NULL},
    {"context_management", NULL},
    {"conversation", refuse_conversation},
    {"include", put_include},
    {"input", NULL},
    {"instructions", NULL},
    {"max_output_tokens", put_limit},
    {"max_tool_calls", NULL},
    {"messages", NULL},
    {"moderation", NULL},
    {"n", NULL},
    {"previous_response_id", NULL},
    {"prompt", refuse_prompt},
    {"prompt_cache_options", NULL},
    {"reasoning", put_reasoning},
    {"store", NULL},
    {"stream", NULL},
    {"stream_options", NULL},
    {"text", put_text},
    {"tool_choice", put_tool_choice},
    {"tools", tools_put},
    {"top_logprobs", put_top_logprobs},
    {"truncation", NULL},
};

static const struct rule *rule_of(struct str name)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (str_eq(name, str_of(rules[i].name)))
            return &rules[i];
    return NULL;
}

static bool put_member(struct translation *t, const struct json_member *member)
{
    const struct rule *rule = rule_of(member->name.raw);
    if (member->value.kind == JSON_SPAN_NULL)
        return true;
    if (rule != NULL)
        return rule->put == NULL || rule->put(t, &member->value);
    buf_lit(t->b, ",\"");
    buf_put(t->b, member->name.raw);
    buf_lit(t->b, "\":");
    members_put_span(t->b, &member->value);
    return true;
}

/* Is it the last of that name? Earlier ones do not count. */
static bool is_last(const struct json_member *at, size_t n, size_t i)
{
    for (size_t k = i + 1; k < n; k++)
        if (str_eq(at[k].name.raw, at[i].name.raw))
            return false;
    return true;
}

bool translate_request(const struct json_member *members, size_t n,
                       const struct translate_before *before, struct buf *b,
                       struct translate_fault *ret_fault)
{
    struct translation t = {.b = b, .fault = ret_fault};
    const struct json_span *input = NULL, *instructions = NULL;
    bool is_good = true;
    if (n > REQUEST_MEMBERS_MAX) {
        translate_at(&t, "body");
        return translate_fail(&t, "", "an object of at most 128 members");
    }
    buf_lit(b, "{\"stream\":true,\"stream_options\":{\"include_usage\":true}");
    for (size_t i = 0; i < n; i++)
        note_tools(&t, &members[i]);
    for (size_t i = 0; i < n && is_good; i++) {
        if (str_eq(members[i].name.raw, STR("input")))
            input = &members[i].value;
        else if (str_eq(members[i].name.raw, STR("instructions")))
            instructions = &members[i].value;
        else if (is_last(members, n, i))
            is_good = put_member(&t, &members[i]);
    }
    if (t.has_logprobs)
        buf_lit(b, ",\"logprobs\":true");
    is_good = is_good && translate_input(&t, instructions, before, input);
    buf_put_char(b, '}');
    return is_good;
}
