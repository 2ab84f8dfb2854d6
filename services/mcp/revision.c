/* SPDX-License-Identifier: MIT
 * revision.c - see revision.h. */
#include "services/mcp/revision.h"

#include "services/mcp/rpc.h"
#include "shared/base/json.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/respond.h"

#include <openssl/evp.h>

#define META "io.modelcontextprotocol/"

static const char *const agreed[] = {"2025-11-25", "2025-06-18", "2025-03-26"};
enum { AGREED_NR = sizeof agreed / sizeof *agreed };

static bool is_agreed(struct str name)
{
    for (size_t i = 0; i < AGREED_NR; i++)
        if (str_eq(str_of(agreed[i]), name))
            return true;
    return false;
}

const char *revision_agree(struct str name)
{
    for (size_t i = 0; i < AGREED_NR; i++)
        if (str_eq(str_of(agreed[i]), name))
            return agreed[i];
    return agreed[0];
}

/* --- the headers of the stateless one --------------------------------------------------------- */

/* Values that a header cannot hold come as `=?base64?...?=`. */
static bool is_in_base64(struct request *r, struct str header, struct str value)
{
    const struct str prefix = STR("=?base64?"), suffix = STR("?=");
    size_t n = (value.n + 2) / 3 * 4;
    if (header.n != prefix.n + n + suffix.n || !str_has_prefix(header, prefix) ||
        memcmp(header.at + prefix.n + n, suffix.at, suffix.n) != 0)
        return false;
    unsigned char *text = request_alloc(r, n + 1);
    EVP_EncodeBlock(text, (const unsigned char *)value.at, (int)value.n);
    return memcmp(header.at + prefix.n, text, n) == 0;
}

/* Checks a header against what it repeats; `value.at == NULL`: the handler refuses that. */
static bool check_header(const struct mcp_message *message, const char *name, const char *lower,
                         struct str value)
{
    struct str header = request_header(message->r, lower);
    if (value.at == NULL)
        return true;
    if (header.at != NULL && (str_eq(header, value) || is_in_base64(message->r, header, value)))
        return true;
    rpc_refuse(message, 400, RPC_HEADER_MISMATCH,
               header.at == NULL ? "The header %s is missing: it repeats what the body says."
                                 : "The header %s is not what the body says.",
               name);
    return false;
}

static struct str name_of(const struct mcp_message *message)
{
    bool is_read = str_eq(message->method, STR("resources/read"));
    if (!is_read && !str_eq(message->method, STR("tools/call")))
        return (struct str){NULL, 0};
    return json_member_str(message->params, is_read ? "uri" : "name");
}

static bool refuse_unknown(const struct mcp_message *message, struct str version)
{
    struct buf data, b;
    char text[128];
    snprintf(text, sizeof text, "This revision is not known here: %s is.", REVISION_STATELESS);
    buf_init(&data, MCP_RESULT_MAX_BYTES);
    buf_init(&b, MCP_RESULT_MAX_BYTES);
    buf_lit(&data, "{\"supported\":[\"" REVISION_STATELESS "\"],\"requested\":");
    buf_put_json(&data, version);
    buf_put_char(&data, '}');
    rpc_put_error_data(&b, message->id, RPC_NO_REVISION, str_of(text), buf_str(&data));
    respond_json(message->r, 400, &b);
    buf_fini(&data);
    buf_fini(&b);
    return false;
}

static bool check_stateless(const struct mcp_message *message, const json_t *meta)
{
    struct str version = json_member_str(meta, META "protocolVersion");
    const json_t *client = json_object_get(meta, META "clientInfo");
    if (version.at == NULL) {
        rpc_refuse(message, 400, RPC_BAD_PARAMS,
                   "_meta must have the revision, a text, as " META "protocolVersion.");
        return false;
    }
    if (!check_header(message, "MCP-Protocol-Version", "mcp-protocol-version", version))
        return false;
    if (!str_eq(version, STR(REVISION_STATELESS)))
        return refuse_unknown(message, version);
    if (!json_is_object(json_object_get(meta, META "clientCapabilities")) ||
        (client != NULL && !json_is_object(client))) {
        rpc_refuse(message, 400, RPC_BAD_PARAMS,
                   "_meta must have the object " META "clientCapabilities, and " META
                   "clientInfo, if it is there, must be one.");
        return false;
    }
    return check_header(message, "Mcp-Method", "mcp-method", message->method) &&
           check_header(message, "Mcp-Name", "mcp-name", name_of(message));
}

bool revision_check(struct mcp_message *message)
{
    struct str header = request_header(message->r, "mcp-protocol-version");
    const json_t *meta = json_object_get(message->params, "_meta");
    bool is_named = str_eq(header, STR(REVISION_STATELESS));
    bool claims = json_object_get(meta, META "protocolVersion") != NULL;
    if (message->id.n > 0 && (is_named || claims)) {
        message->is_stateless = true;
        return check_stateless(message, meta);
    }
    if (header.at == NULL || is_named || is_agreed(header))
        return true;
    rpc_refuse(message, 400, RPC_BAD_REQUEST,
               "MCP-Protocol-Version %s is not known here: %s, %s, %s and %s are.",
               explain_quoted(message->r, header), REVISION_STATELESS, agreed[0], agreed[1],
               agreed[2]);
    return false;
}
