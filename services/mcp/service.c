/* SPDX-License-Identifier: MIT
 * service.c - the Model Context Protocol as one of the node's services (services/node/service.h).
 * It comes with what its tools call. */
#include "services/mcp/mcp.h"

#include "services/node/service.h"

const struct service mcp_service = {
    .name = "mcp",
    .summary = "documents and questions as tools of a model's client: /mcp",
    .comes_with = "documents,broker",
    .routes = mcp_routes,
};
