/* SPDX-License-Identifier: MIT
 * messages_piece.c - see messages_piece.h. */
#include "services/engine/models/messages_piece.h"

static bool is_type(const json_t *json, const char *type)
{
    return str_eq(json_member_str(json, "type"), str_of(type));
}

static struct str finish_of(const json_t *holder)
{
    struct str reason = json_member_str(holder, "stop_reason");
    if (reason.n == 0)
        return STR("");
    if (str_eq(reason, STR("max_tokens")) || str_eq(reason, STR("model_context_window_exceeded")))
        return STR("length");
    if (str_eq(reason, STR("tool_use")))
        return STR("tool_calls");
    if (str_eq(reason, STR("refusal")))
        return STR("content_filter");
    return STR("stop");
}

static bool has_call(const json_t *content)
{
    const json_t *block;
    size_t i;
    json_array_foreach(content, i, block)
    {
        if (is_type(block, "tool_use"))
            return true;
    }
    return false;
}

struct openai_piece messages_read_piece(const json_t *json)
{
    if (is_type(json, "message"))
        return (struct openai_piece){.text = json,
                                     .is_message = true,
                                     .has_choice = true,
                                     .has_tools = has_call(json_object_get(json, "content")),
                                     .finish = finish_of(json)};
    if (is_type(json, "message_start"))
        return (struct openai_piece){.has_choice = true};
    if (is_type(json, "content_block_start"))
        return (struct openai_piece){
            .text = json_object_get(json, "content_block"),
            .has_choice = true,
            .has_tools = is_type(json_object_get(json, "content_block"), "tool_use")};
    if (is_type(json, "content_block_delta"))
        return (struct openai_piece){.text = json_object_get(json, "delta"), .has_choice = true};
    if (is_type(json, "message_delta"))
        return (struct openai_piece){.has_choice = true,
                                     .finish = finish_of(json_object_get(json, "delta"))};
    return (struct openai_piece){.is_last = is_type(json, "message_stop")};
}

static uint64_t count_of(const json_t *usage, const char *name)
{
    json_int_t count = json_integer_value(json_object_get(usage, name));
    return count < 0 ? 0 : (uint64_t)count;
}

bool messages_read_usage(const json_t *json, uint64_t *ret_prompt, uint64_t *ret_completion)
{
    bool is_start = is_type(json, "message_start");
    const json_t *usage =
        json_object_get(is_start ? json_object_get(json, "message") : json, "usage");
    if (json_is_integer(json_object_get(usage, "input_tokens")))
        *ret_prompt = count_of(usage, "input_tokens") +
                      count_of(usage, "cache_creation_input_tokens") +
                      count_of(usage, "cache_read_input_tokens");
    if (is_start || !json_is_integer(json_object_get(usage, "output_tokens")))
        return false;
    *ret_completion = count_of(usage, "output_tokens");
    return true;
}
