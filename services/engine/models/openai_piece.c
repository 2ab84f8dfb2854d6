/* SPDX-License-Identifier: MIT
 * openai_piece.c - see openai_piece.h. */
#include "services/engine/models/openai_piece.h"

static bool is_one_of(struct str word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq_nocase(word, str_of(words[i])))
            return true;
    return false;
}

/* ---- texts ---- */

/* A text, a part, or a list of parts. Parts of thoughts are among those of the answer. */
static void put_content(const json_t *content, struct buf *think, struct buf *answer)
{
    static const char *const thoughts[] = {"thinking", "reasoning"};
    const json_t *part;
    size_t i;
    if (json_is_string(content)) {
        buf_put(answer, json_str(content));
        return;
    }
    if (!json_is_array(content) && !json_is_object(content))
        return;
    json_array_foreach(content, i, part) put_content(part, think, answer);
    for (size_t k = 0; k < sizeof thoughts / sizeof *thoughts; k++)
        put_content(json_object_get(content, thoughts[k]), think, think);
    bool is_thought =
        is_one_of(json_member_str(content, "type"), thoughts, sizeof thoughts / sizeof *thoughts);
    put_content(json_object_get(content, "text"), think, is_thought ? think : answer);
}

void openai_put_texts(const json_t *text, struct buf *think, struct buf *answer)
{
    /* Some servers send their thoughts under two names. The third is Anthropic's. */
    static const char *const names[] = {"reasoning_content", "reasoning", "thinking"};
    size_t before = think->n;
    for (size_t i = 0; i < sizeof names / sizeof *names && think->n == before; i++)
        put_content(json_object_get(text, names[i]), think, think);
    put_content(json_object_get(text, "content"), think, answer);
    if (json_is_string(json_object_get(text, "text")))
        buf_put(answer, json_member_str(text, "text"));
}

/* ---- the choice ---- */

/* One choice was asked for, whose index is 0: others are not ours. */
static const json_t *choice_of(const json_t *json)
{
    const json_t *choice;
    size_t i;
    json_array_foreach(json_object_get(json, "choices"), i, choice)
    {
        const json_t *index = json_object_get(choice, "index");
        bool has_index = index != NULL && !json_is_null(index);
        if (has_index ? json_is_number(index) && json_number_value(index) == 0 : i == 0)
            return choice;
    }
    return NULL;
}

struct openai_piece openai_read_piece(const json_t *json)
{
    const json_t *choice = choice_of(json), *text = json_object_get(choice, "delta");
    struct openai_piece piece = {.has_choice = choice != NULL};
    if (!json_is_object(text)) {
        text = json_object_get(choice, "message");
        piece.is_message = json_is_object(text);
    }
    if (!json_is_object(text))
        text = choice;
    piece.text = text;
    piece.finish = str_trim(json_member_str(choice, "finish_reason"));
    piece.refusal = json_member_str(text, "refusal");
    piece.has_tools = json_array_size(json_object_get(text, "tool_calls")) > 0 ||
                      json_is_object(json_object_get(text, "function_call"));
    return piece;
}

static bool read_count(const json_t *usage, const char *name, uint64_t *ret_count)
{
    const json_t *count = json_object_get(usage, name);
    if (!json_is_integer(count) || json_integer_value(count) < 0)
        return false;
    *ret_count = (uint64_t)json_integer_value(count);
    return true;
}

bool openai_read_usage(const json_t *json, uint64_t *ret_prompt, uint64_t *ret_completion)
{
    const json_t *usage = json_object_get(json, "usage");
    return read_count(usage, "prompt_tokens", ret_prompt) &&
           read_count(usage, "completion_tokens", ret_completion);
}

/* ---- ends that are none ---- */

bool openai_is_error(const json_t *json)
{
    const json_t *error = json_object_get(json, "error");
    bool is_named = json_is_object(error) || json_is_array(error) || json_str(error).n > 0;
    return is_named || str_eq(json_member_str(json, "object"), STR("error")) ||
           str_eq(json_member_str(json, "type"), STR("error"));
}

static bool is_error_named(const json_t *json, const char *const *words, size_t n)
{
    const json_t *error = json_object_get(json, "error");
    const json_t *from = json_is_object(error) ? error : json;
    return is_one_of(json_member_str(from, "code"), words, n) ||
           is_one_of(json_member_str(from, "type"), words, n);
}

bool openai_is_about_prompt(const json_t *json)
{
    static const char *const words[] = {"context_length_exceeded", "content_filter",
                                        "content_policy_violation", "moderation_blocked"};
    return is_error_named(json, words, sizeof words / sizeof *words);
}

bool openai_is_hopeless(const json_t *json)
{
    static const char *const words[] = {"invalid_request_error", "BadRequestError"};
    const json_t *error = json_object_get(json, "error");
    const json_t *from = json_is_object(error) ? error : json;
    json_int_t code = json_integer_value(json_object_get(from, "code"));
    return openai_is_about_prompt(json) ||
           is_error_named(json, words, sizeof words / sizeof *words) || code == 400 ||
           code == 413 || code == 422;
}

bool openai_is_failure(struct str finish)
{
    static const char *const words[] = {"error",         "abort",    "aborted",
                                        "cancelled",     "canceled", "insufficient_system_resource",
                                        "network_error", "load",     "unload"};
    return is_one_of(finish, words, sizeof words / sizeof *words);
}

const char *openai_known_finish(struct str finish)
{
    static const char *const known[] = {"length", "content_filter", "tool_calls", "function_call"};
    static const char *const cut[] = {"max_tokens", "model_length"};
    if (is_one_of(finish, cut, sizeof cut / sizeof *cut))
        return "length";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_eq(finish, str_of(known[i])))
            return known[i];
    return "stop";
}
