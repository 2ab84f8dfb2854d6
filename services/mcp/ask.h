/* SPDX-License-Identifier: MIT
 *
 * ask: the tools that ask a model, whose answers take a while: a question into the queue, and one
 * about the documents. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_MCP_ASK_H
#define PARLEY_SERVICES_MCP_ASK_H

#include "services/mcp/call.h"

extern const struct mcp_call_kind ask_documents_kind, ask_kind;

/* The body of POST /api/add-query (struct tool). */
void ask_put_body(struct buf *b, const struct mcp_message *message, const json_t *args,
                  struct str user, void **ret_about);

#endif
