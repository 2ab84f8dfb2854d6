/* SPDX-License-Identifier: MIT
 *
 * mcp: the Model Context Protocol over HTTP (routes.yaml): the documents and the queue as tools and
 * resources of a model's client. It keeps no session and no state of its own, so any node answers
 * any message. What a tool does is a request of the node's own to the route that does it (inner.h).
 * On the loop's thread.
 */
#ifndef PARLEY_SERVICES_MCP_MCP_H
#define PARLEY_SERVICES_MCP_MCP_H

#include "generated/routes_mcp.h"
#include "shared/http/request/request.h"

#include <jansson.h>

enum {
    MCP_BODY_BYTES = 256 << 10,
    MCP_RESULT_MAX_BYTES = 17 << 20, /* as JSON: the longest answer twice, and its citations */
};

#define MCP_SERVER_INFO                                                                            \
    "{\"name\":\"parley\",\"title\":\"Parley\",\"version\":\"" PARLEY_VERSION "\"}"

/* One message of a client. */
struct mcp_message {
    struct request *r;
    struct str id;        /* as JSON; n == 0: a notification. In the request's pool */
    struct str method;    /* borrowed from the tree, as params */
    const json_t *params; /* an object; NULL: none */
    bool is_stateless;    /* of that revision (revision.h) */
    bool is_cacheable;    /* that revision says for how long results like its own are good */
};

#endif
