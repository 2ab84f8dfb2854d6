/* SPDX-License-Identifier: MIT
 *
 * resources: the caller's documents, as texts that a client attaches to a conversation. One is read
 * a few passages at a time, so that no request costs more than one for a passage and its
 * neighbours. On the loop's thread.
 *
 *   parley://documents/{id}                   from the first passage
 *   parley://documents/{id}/passages/{index}  from that passage
 */
#ifndef PARLEY_SERVICES_MCP_RESOURCES_H
#define PARLEY_SERVICES_MCP_RESOURCES_H

#include "services/mcp/call.h"

/* The routes that do the work; a node without them has no resources. */
#define RESOURCES_PATH "/api/docs"

void resources_list(const struct mcp_message *message);
void resources_list_templates(const struct mcp_message *message);
void resources_read(const struct mcp_message *message);

#endif
