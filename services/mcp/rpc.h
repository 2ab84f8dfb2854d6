/* SPDX-License-Identifier: MIT
 *
 * rpc: reads and answers the messages of JSON-RPC 2.0, one per request. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_MCP_RPC_H
#define PARLEY_SERVICES_MCP_RPC_H

#include "services/mcp/mcp.h"

enum rpc_error {
    RPC_BAD_JSON = -32700,
    RPC_BAD_REQUEST = -32600,
    RPC_NO_METHOD = -32601,
    RPC_BAD_PARAMS = -32602,
    RPC_INTERNAL = -32603,
    RPC_NO_RESOURCE = -32002, /* MCP's, as those below; the stateless revision has none */
    RPC_HEADER_MISMATCH = -32020,
    RPC_NO_REVISION = -32022,
};

/* Reads the body of a request. *ret_tree, which the message borrows from, is the caller's. Answers
 * 400 with an error and returns false if it is no message; an answer of the client to a request,
 * which Parley never sends, is answered with 202, and false as well. */
bool rpc_read(struct request *r, json_t **ret_tree, struct mcp_message *ret_message) must_check;

/* Reads a number or a text of at most 254 bytes as JSON, into the request's pool. False if it is
 * neither, absent or too long. */
bool rpc_read_id(struct request *r, const json_t *id, struct str *ret_id) must_check;

/* Puts what precedes a result's members, and what follows them. In the stateless revision there is
 * at least one. */
void rpc_begin_result(struct buf *b, const struct mcp_message *message);
void rpc_end_result(struct buf *b);
/* Puts an error as a message. `id.n == 0`: null. */
void rpc_put_error(struct buf *b, struct str id, enum rpc_error error, struct str text);
/* The same with data, which are JSON; n == 0: none. */
void rpc_put_error_data(struct buf *b, struct str id, enum rpc_error error, struct str text,
                        struct str data);
/* Answers with an error, of at most 1 KiB. */
void rpc_refuse(const struct mcp_message *message, int status, enum rpc_error error,
                const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Answers with a result, whose members are JSON already. */
void rpc_respond(const struct mcp_message *message, struct str members);

#endif
