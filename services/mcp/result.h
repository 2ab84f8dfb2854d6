/* SPDX-License-Identifier: MIT
 *
 * result: writes results of tools as messages. Pure.
 */
#ifndef PARLEY_SERVICES_MCP_RESULT_H
#define PARLEY_SERVICES_MCP_RESULT_H

#include "services/mcp/mcp.h"

/* Puts a result that was found: text for the model, and the same as an object, which is JSON. */
void result_put(struct buf *b, const struct mcp_message *message, struct str text,
                struct str structured);
/* Puts why there is none. The model reads it, so it says what to do. */
void result_put_failure(struct buf *b, const struct mcp_message *message, struct str text);

#endif
