/* SPDX-License-Identifier: MIT
 * settings.c - see settings.h. */
#include "services/openai/responses/settings.h"

#include "services/openai/responses/tools.h"

struct request_members {
    const struct json_member *at;
    size_t n;
};

static const struct json_span *get(const struct request_members *request, const char *name,
                                   enum json_kind kind)
{
    for (size_t i = request->n; i-- > 0;)
        if (str_eq(request->at[i].name.raw, str_of(name)))
            return request->at[i].value.kind == kind ? &request->at[i].value : NULL;
    return NULL;
}

static bool is(const struct request_members *request, const char *name, const char *value)
{
    const struct json_span *member = get(request, name, JSON_SPAN_BOOL);
    return member != NULL && str_eq(member->raw, str_of(value));
}

/* Members that are repeated as they are, and what they are without. */
static const struct repeated_member {
    const char *name;
    enum json_kind kind;
    const char *fallback; /* NULL: the member is absent */
} repeated_members[] = {
    {"instructions", JSON_SPAN_TEXT, "null"},
    {"max_output_tokens", JSON_SPAN_NUMBER, "null"},
    {"max_tool_calls", JSON_SPAN_NUMBER, "null"},
    {"metadata", JSON_SPAN_OBJECT, "{}"},
    {"parallel_tool_calls", JSON_SPAN_BOOL, "true"},
    {"prompt_cache_key", JSON_SPAN_TEXT, NULL},
    {"reasoning", JSON_SPAN_OBJECT, "{\"effort\":null,\"summary\":null}"},
    {"safety_identifier", JSON_SPAN_TEXT, NULL},
    {"temperature", JSON_SPAN_NUMBER, "1"},
    {"top_logprobs", JSON_SPAN_NUMBER, "0"},
    {"top_p", JSON_SPAN_NUMBER, "1"},
    {"truncation", JSON_SPAN_TEXT, "\"disabled\""},
    {"user", JSON_SPAN_TEXT, NULL},
};

static void put_repeated(struct buf *b, const struct request_members *request)
{
    for (size_t i = 0; i < sizeof repeated_members / sizeof *repeated_members; i++) {
        const struct repeated_member *member = &repeated_members[i];
        const struct json_span *value = get(request, member->name, member->kind);
        if (value == NULL && member->fallback == NULL)
            continue;
        buf_put_key(b, member->name);
        if (value != NULL)
            members_put_span(b, value);
        else
            buf_put(b, str_of(member->fallback));
    }
}

static void put_text(struct buf *b, const struct json_span *text)
{
    struct members members;
    const struct json_span *format = NULL, *verbosity = NULL;
    if (text != NULL && members_read(&members, text->raw)) {
        format = members_get_kind(&members, "format", JSON_SPAN_OBJECT);
        verbosity = members_get_kind(&members, "verbosity", JSON_SPAN_TEXT);
    }
    buf_lit(b, ",\"text\":{\"format\":");
    buf_put(b, format == NULL ? STR("{\"type\":\"text\"}") : format->raw);
    if (verbosity != NULL) {
        buf_put_key(b, "verbosity");
        members_put_span(b, verbosity);
    }
    buf_put_char(b, '}');
}

static void put_tool(struct buf *b, const struct members *tool)
{
    const struct json_span *name = members_get(tool, "name"),
                           *description = members_get_kind(tool, "description", JSON_SPAN_TEXT),
                           *parameters = members_get_kind(tool, "parameters", JSON_SPAN_OBJECT),
                           *strict = members_get_kind(tool, "strict", JSON_SPAN_BOOL);
    buf_lit(b, "{\"type\":\"function\",\"name\":");
    members_put_span(b, name);
    if (description != NULL) {
        buf_put_key(b, "description");
        members_put_span(b, description);
    }
    buf_put_key(b, "parameters");
    buf_put(b, parameters == NULL ? STR("null") : parameters->raw);
    buf_put_key(b, "strict");
    buf_put(b, strict == NULL ? STR("null") : strict->raw);
    buf_put_char(b, '}');
}

static void put_tools(struct buf *b, const struct json_span *tools)
{
    struct members tool;
    struct json_span item;
    bool is_first = true;
    buf_lit(b, ",\"tools\":[");
    for (struct str rest = tools == NULL ? STR("") : json_list_inside(tools);
         json_next_item(&rest, &item);) {
        if (!members_read(&tool, item.raw) || members_get(&tool, "name") == NULL)
            continue;
        if (!is_first)
            buf_put_char(b, ',');
        if (tools_is_namespace(&tool) || tools_is_custom(&tool))
            buf_put(b, item.raw);
        else
            put_tool(b, &tool);
        is_first = false;
    }
    buf_put_char(b, ']');
}

static void put_tool_choice(struct buf *b, const struct request_members *request)
{
    const struct json_span *word = get(request, "tool_choice", JSON_SPAN_TEXT),
                           *object = get(request, "tool_choice", JSON_SPAN_OBJECT);
    buf_put_key(b, "tool_choice");
    if (word != NULL)
        members_put_span(b, word);
    else
        buf_put(b, object != NULL ? object->raw : STR("\"auto\""));
}

void settings_put(struct buf *b, const struct json_member *members, size_t n, bool is_kept)
{
    struct request_members request = {members, n};
    const struct json_span *previous = get(&request, "previous_response_id", JSON_SPAN_TEXT);
    buf_printf(b, ",\"background\":%s,\"previous_response_id\":",
               is(&request, "background", "true") ? "true" : "false");
    if (previous != NULL)
        members_put_span(b, previous);
    else
        buf_lit(b, "null");
    buf_printf(b, ",\"store\":%s", is_kept ? "true" : "false");
    put_repeated(b, &request);
    put_text(b, get(&request, "text", JSON_SPAN_OBJECT));
    put_tools(b, get(&request, "tools", JSON_SPAN_LIST));
    put_tool_choice(b, &request);
}

struct str settings_tools(const struct json_member *members, size_t n)
{
    const struct json_span *tools =
        get(&(struct request_members){members, n}, "tools", JSON_SPAN_LIST);
    return tools == NULL ? STR("") : tools->raw;
}
