/* SPDX-License-Identifier: MIT
 * rpc.c - see rpc.h. */
#include "services/mcp/rpc.h"

#include "shared/base/json.h"
#include "shared/http/request/respond.h"

#include <stdarg.h>
#include <stdio.h>

enum { ID_MAX_BYTES = 256, ERROR_TEXT_BYTES = 1024, ERROR_MAX_BYTES = 8 << 10 };

void rpc_begin_result(struct buf *b, const struct mcp_message *message)
{
    buf_lit(b, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_put(b, message->id);
    buf_lit(b, ",\"result\":{");
    if (!message->is_stateless)
        return;
    buf_lit(b, "\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/"
               "serverInfo\":" MCP_SERVER_INFO "},");
    if (message->is_cacheable)
        buf_lit(b, "\"ttlMs\":0,\"cacheScope\":\"private\",");
}

void rpc_end_result(struct buf *b)
{
    buf_lit(b, "}}");
}

void rpc_put_error_data(struct buf *b, struct str id, enum rpc_error error, struct str text,
                        struct str data)
{
    buf_lit(b, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_put(b, id.n > 0 ? id : STR("null"));
    buf_printf(b, ",\"error\":{\"code\":%d,\"message\":", error);
    buf_put_json(b, text);
    if (data.n > 0) {
        buf_put_key(b, "data");
        buf_put(b, data);
    }
    buf_lit(b, "}}");
}

void rpc_put_error(struct buf *b, struct str id, enum rpc_error error, struct str text)
{
    rpc_put_error_data(b, id, error, text, STR(""));
}

void rpc_refuse(const struct mcp_message *message, int status, enum rpc_error error,
                const char *format, ...)
{
    char text[ERROR_TEXT_BYTES];
    struct buf b;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_init(&b, ERROR_MAX_BYTES);
    rpc_put_error(&b, message->id, error, str_of(text));
    respond_json(message->r, status, &b);
    buf_fini(&b);
}

void rpc_respond(const struct mcp_message *message, struct str members)
{
    struct buf b;
    buf_init(&b, MCP_RESULT_MAX_BYTES);
    rpc_begin_result(&b, message);
    buf_put(&b, members);
    rpc_end_result(&b);
    respond_json(message->r, 200, &b);
    buf_fini(&b);
}

bool rpc_read_id(struct request *r, const json_t *id, struct str *ret_id)
{
    struct buf b;
    if (!json_is_string(id) && !json_is_number(id))
        return false;
    buf_init(&b, ID_MAX_BYTES);
    buf_put_json_value(&b, id);
    bool is_good = !b.is_over;
    if (is_good)
        *ret_id = request_copy(r, buf_str(&b));
    buf_fini(&b);
    return is_good;
}

static bool read_object(json_t *tree, struct mcp_message *message)
{
    const json_t *id = json_object_get(tree, "id"), *params = json_object_get(tree, "params");
    message->method = json_member_str(tree, "method");
    if (!str_eq(json_member_str(tree, "jsonrpc"), STR("2.0"))) {
        rpc_refuse(message, 400, RPC_BAD_REQUEST, "jsonrpc must be \"2.0\".");
    } else if (id != NULL && !rpc_read_id(message->r, id, &message->id)) {
        rpc_refuse(message, 400, RPC_BAD_REQUEST,
                   "id must be a number or a text of at most %d bytes.", ID_MAX_BYTES - 2);
    } else if (message->method.at == NULL) {
        bool is_answer = json_object_get(tree, "result") != NULL ||
                         json_is_object(json_object_get(tree, "error"));
        if (is_answer && id != NULL)
            respond_empty(message->r, 202);
        else
            rpc_refuse(message, 400, RPC_BAD_REQUEST, "method must be a text.");
    } else if (params != NULL && !json_is_object(params)) {
        rpc_refuse(message, 400, RPC_BAD_PARAMS, "params must be an object.");
    } else {
        message->params = params;
        return true;
    }
    return false;
}

bool rpc_read(struct request *r, json_t **ret_tree, struct mcp_message *ret_message)
{
    char reason[160];
    json_t *tree = NULL;
    struct mcp_message message = {.r = r};
    if (!json_parse(request_entity(r), reason, sizeof reason, &tree)) {
        rpc_refuse(&message, 400, RPC_BAD_JSON, "The body is not valid JSON: %s.", reason);
        return false;
    }
    if (!json_is_object(tree)) {
        rpc_refuse(&message, 400, RPC_BAD_REQUEST,
                   json_is_array(tree) ? "Batches are not supported: send one message per request."
                                       : "The body must be one JSON-RPC message, an object.");
    } else if (read_object(tree, &message)) {
        *ret_tree = tree;
        *ret_message = message;
        return true;
    }
    json_decref(tree);
    return false;
}
