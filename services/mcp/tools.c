/* SPDX-License-Identifier: MIT
 * tools.c - see tools.h. */
#include "services/mcp/tools.h"

#include "services/mcp/call.h"
#include "services/mcp/result.h"
#include "services/mcp/rpc.h"
#include "shared/base/json.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/respond.h"
#include "shared/http/request/router.h"
#include "shared/text/text.h"

#include <stdarg.h>
#include <stdio.h>

enum { LIST_MAX_BYTES = 64 << 10, TARGET_MAX_BYTES = 16 << 10, ID_BYTES = 36, NAMES_MAX = 512 };

/* --- tools/list ------------------------------------------------------------------------------- */

static void put_arg(struct buf *b, const struct tool_arg *arg)
{
    static const char *const types[] = {"string", "string", "integer", "boolean"};
    buf_put_json(b, str_of(arg->name));
    buf_printf(b, ":{\"type\":\"%s\",\"description\":", types[arg->kind]);
    buf_put_json(b, str_of(arg->description));
    if (arg->kind == ARG_TEXT)
        buf_printf(b, ",\"minLength\":%u,\"maxLength\":%u", arg->min, arg->max);
    if (arg->kind == ARG_NUMBER)
        buf_printf(b, ",\"minimum\":%u,\"maximum\":%u", arg->min, arg->max);
    if (arg->kind == ARG_ID)
        buf_lit(b, ",\"pattern\":\"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$\"");
    buf_put_char(b, '}');
}

static void put_schema(struct buf *b, const struct tool_arg *args)
{
    bool is_first = true;
    buf_lit(b, "{\"type\":\"object\",\"properties\":{");
    for (const struct tool_arg *arg = args; arg->name != NULL; arg++) {
        if (arg > args)
            buf_put_char(b, ',');
        put_arg(b, arg);
    }
    buf_lit(b, "},\"required\":[");
    for (const struct tool_arg *arg = args; arg->name != NULL; arg++) {
        if (!arg->is_required)
            continue;
        if (!is_first)
            buf_put_char(b, ',');
        buf_put_json(b, str_of(arg->name));
        is_first = false;
    }
    buf_lit(b, "],\"additionalProperties\":false}");
}

static void put_tool(struct buf *b, const struct tool *tool)
{
    buf_lit(b, "{\"name\":");
    buf_put_json(b, str_of(tool->name));
    buf_put_key(b, "title");
    buf_put_json(b, str_of(tool->title));
    buf_put_key(b, "description");
    buf_put_json(b, str_of(tool->description));
    buf_put_key(b, "inputSchema");
    put_schema(b, tool->args);
    buf_put_key(b, "outputSchema");
    buf_put(b, str_of(tool->output));
    buf_printf(b,
               ",\"annotations\":{\"readOnlyHint\":%s,\"destructiveHint\":false,"
               "\"openWorldHint\":%s}}",
               tool->stores ? "false" : "true", tool->is_open ? "true" : "false");
}

void tools_list(const struct mcp_message *message)
{
    struct buf b;
    buf_init(&b, LIST_MAX_BYTES);
    buf_lit(&b, "\"tools\":[");
    for (const struct tool *tool = tool_table; tool->name != NULL; tool++) {
        if (!call_can(message->r->server, tool->method, tool->path))
            continue;
        if (b.at[b.n - 1] != '[')
            buf_put_char(&b, ',');
        put_tool(&b, tool);
    }
    buf_put_char(&b, ']');
    rpc_respond(message, buf_str(&b));
    buf_fini(&b);
}

/* --- a result --------------------------------------------------------------------------------- */

/* The answer of the route as it is, and as text for clients that read no structure. */
static void put_as_is(struct mcp_call *call, struct buf *b, struct str body)
{
    struct str next = call_next(call);
    struct buf text;
    buf_init(&text, MCP_RESULT_MAX_BYTES);
    buf_put(&text, (struct str){body.at, body.n - 1});
    if (next.n > 0) {
        buf_put_key(&text, "next");
        buf_put_json(&text, next);
    }
    buf_put_char(&text, '}');
    result_put(b, &call->message, buf_str(&text), buf_str(&text));
    b->is_over |= text.is_over;
    buf_fini(&text);
}

/* A mistake of the model, which it can mend: not an error of the protocol. */
__attribute__((format(printf, 2, 3))) static bool refuse_arg(const struct mcp_message *message,
                                                             const char *format, ...)
{
    char text[1024];
    struct buf b;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_init(&b, 8 << 10);
    result_put_failure(&b, message, str_of(text));
    respond_json(message->r, 200, &b);
    buf_fini(&b);
    return false;
}

/* --- arguments -------------------------------------------------------------------------------- */

static bool is_id(struct str text)
{
    if (text.n != ID_BYTES)
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (strchr(i == 8 || i == 13 || i == 18 || i == 23 ? "-" : "0123456789abcdef",
                   text.at[i]) == NULL)
            return false;
    return true;
}

static bool is_between(json_int_t value, const struct tool_arg *arg)
{
    return value >= (json_int_t)arg->min && value <= (json_int_t)arg->max;
}

static bool fits(const struct tool_arg *arg, const json_t *value)
{
    struct str text = json_str(value);
    switch (arg->kind) {
    case ARG_TEXT: return text.at != NULL && is_between((json_int_t)text_length(text), arg);
    case ARG_ID: return text.at != NULL && is_id(text);
    case ARG_NUMBER: return json_is_integer(value) && is_between(json_integer_value(value), arg);
    default: return json_is_boolean(value);
    }
}

static bool refuse_kind(const struct mcp_message *message, const struct tool_arg *arg,
                        bool is_missing)
{
    const char *what = is_missing ? " is missing: it" : "";
    switch (arg->kind) {
    case ARG_TEXT:
        return refuse_arg(message, "%s%s must be a text of %u to %u characters.", arg->name, what,
                          arg->min, arg->max);
    case ARG_NUMBER:
        return refuse_arg(message, "%s%s must be a whole number from %u to %u.", arg->name, what,
                          arg->min, arg->max);
    case ARG_ID:
        return refuse_arg(message, "%s%s must be the id of a document, as list_documents has it.",
                          arg->name, what);
    default: return refuse_arg(message, "%s%s must be true or false.", arg->name, what);
    }
}

static const struct tool_arg *find_arg(const struct tool *tool, const char *name)
{
    const struct tool_arg *arg = tool->args;
    while (arg->name != NULL && strcmp(arg->name, name) != 0)
        arg++;
    return arg->name == NULL ? NULL : arg;
}

static bool refuse_unknown(const struct mcp_message *message, const struct tool *tool,
                           const char *name)
{
    char bytes[NAMES_MAX];
    struct buf names = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    for (const struct tool_arg *arg = tool->args; arg->name != NULL; arg++)
        buf_printf(&names, "%s%s", arg > tool->args ? ", " : "", arg->name);
    return refuse_arg(message, "%s is no argument of %s, which takes %.*s.",
                      explain_quoted(message->r, str_of(name)), tool->name,
                      STR_ARG(buf_str(&names)));
}

static bool check_args(const struct mcp_message *message, const struct tool *tool, json_t *args)
{
    const char *name;
    json_t *value;
    json_object_foreach(args, name, value) if (find_arg(tool, name) ==
                                               NULL) return refuse_unknown(message, tool, name);
    for (const struct tool_arg *arg = tool->args; arg->name != NULL; arg++) {
        value = json_object_get(args, arg->name);
        bool is_missing = value == NULL || json_is_null(value);
        if (is_missing ? arg->is_required : !fits(arg, value))
            return refuse_kind(message, arg, is_missing);
    }
    return true;
}

/* --- the request of the node's own ------------------------------------------------------------ */

static void put_plain(struct buf *b, const json_t *value)
{
    if (json_is_string(value))
        buf_put_url_encoded(b, json_str(value));
    else
        buf_put_json_value(b, value);
}

/* The path with its segments; what is not part of it goes into the query, if there is no body. */
static void put_target(struct buf *b, const struct tool *tool, const json_t *args, struct str user)
{
    char mark = '?';
    for (const char *at = tool->path; *at != 0; at++) {
        const char *end = *at == '{' ? strchr(at, '}') : NULL;
        if (end == NULL) {
            buf_put_char(b, *at);
            continue;
        }
        put_plain(b, json_object_getn(args, at + 1, (size_t)(end - at - 1)));
        at = end;
    }
    if (tool->query != NULL) {
        buf_printf(b, "?%s", tool->query);
        mark = '&';
    }
    if (user.at != NULL && tool->put_body == NULL) {
        buf_printf(b, "%cOnBehalfOf=", mark);
        buf_put_url_encoded(b, user);
        mark = '&';
    }
    for (const struct tool_arg *arg = tool->args; arg->name != NULL && tool->method[0] == 'G';
         arg++) {
        const json_t *value = json_object_get(args, arg->name);
        bool is_absent = value == NULL || json_is_null(value);
        if ((is_absent && arg->preset == 0) ||
            router_segment(str_of(tool->path), str_of(tool->path), str_of(arg->name)).at != NULL)
            continue;
        buf_printf(b, "%c%s=", mark, arg->name);
        if (is_absent)
            buf_put_u64(b, arg->preset);
        else
            put_plain(b, value);
        mark = '&';
    }
}

static void start(const struct mcp_message *message, const struct tool *tool, const json_t *args,
                  struct str user)
{
    static const struct mcp_call_kind as_is = {.put = put_as_is};
    struct buf target, body;
    void *about = NULL;
    buf_init(&target, TARGET_MAX_BYTES);
    buf_init(&body, MCP_BODY_BYTES);
    put_target(&target, tool, args, user);
    if (tool->put_body != NULL)
        tool->put_body(&body, message, args, user, &about);
    else if (tool->method[0] == 'P')
        buf_put_json_value(&body, args);
    if (target.is_over || body.is_over)
        rpc_refuse(message, 200, RPC_BAD_PARAMS, "The arguments are too long.");
    else
        call_start(call_create(message, tool->kind == NULL ? &as_is : tool->kind, about),
                   tool->method, buf_str(&target), buf_str(&body));
    buf_fini(&target);
    buf_fini(&body);
}

void tools_call(const struct mcp_message *message)
{
    struct str name = json_member_str(message->params, "name"), user = {NULL, 0};
    json_t *args = json_object_get(message->params, "arguments"), *none = NULL;
    const struct tool *tool = tool_table;
    while (tool->name != NULL && !str_eq(str_of(tool->name), name))
        tool++;
    if (name.at == NULL) {
        rpc_refuse(message, 200, RPC_BAD_PARAMS, "name must be the name of a tool.");
    } else if (tool->name == NULL || !call_can(message->r->server, tool->method, tool->path)) {
        rpc_refuse(message, 200, RPC_BAD_PARAMS,
                   "There is no tool %s here: tools/list lists those that exist.",
                   explain_quoted(message->r, name));
    } else if (args != NULL && !json_is_object(args)) {
        rpc_refuse(message, 200, RPC_BAD_PARAMS, "arguments must be an object.");
    } else {
        if (args == NULL)
            args = none = json_object();
        if (check_args(message, tool, args) &&
            (call_read_person(message, &user) || refuse_arg(message, CALL_NO_PERSON)))
            start(message, tool, args, user);
        json_decref(none);
    }
}
