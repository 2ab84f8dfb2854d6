/* SPDX-License-Identifier: MIT
 *
 * protected: says to programs at which OpenID provider their user gets a token for /mcp (RFC 9728).
 * On the loop's thread.
 */
#ifndef PARLEY_SERVICES_MCP_PROTECTED_H
#define PARLEY_SERVICES_MCP_PROTECTED_H

#include "shared/http/request/request.h"

/* Puts the parameter resource_metadata of a challenge, if there is a provider (struct route). */
void protected_put_challenge(const struct request *r, struct buf *out);

#endif
