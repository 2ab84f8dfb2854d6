/* SPDX-License-Identifier: MIT
 *
 * revision: which revision of the protocol a message is of, and the checks that belong to it. Those
 * until 2025-11-25 agree on one in `initialize`. The stateless one, 2026-07-28, names itself in
 * each request, whose headers repeat what proxies want to know of it. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_MCP_REVISION_H
#define PARLEY_SERVICES_MCP_REVISION_H

#include "services/mcp/mcp.h"

/* The one that the client named, or the newest that is agreed on in `initialize`. */
const char *revision_agree(struct str name);
#define REVISION_STATELESS "2026-07-28"

/* Sets message->is_stateless. Answers 400 with an error and returns false if the revision is not
 * known, or the message is not as its revision wants it. */
bool revision_check(struct mcp_message *message) must_check;

#endif
