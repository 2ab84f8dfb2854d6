/* SPDX-License-Identifier: MIT
 *
 * peer: the client's address and network. On the loop's thread, except pure functions.
 */
#ifndef PARLEY_HTTP_PEER_H
#define PARLEY_HTTP_PEER_H

#include "shared/http/request/request.h"

enum { PEER_TEXT_MAX = 64 };

/* Returns true if `list` is NULL, empty or a comma-separated list of addresses and CIDR blocks;
 * otherwise false with a human-readable reason. */
bool peer_check_list(const char *list, char *reason, size_t reason_size) must_check;

/* The client's address: the socket's, or behind a trusted proxy the last entry of X-Forwarded-For
 * that is not a trusted proxy. "unix" for a Unix socket. Cached in r->peer, in the request's
 * memory. */
struct str peer_address(struct request *r);

/* Puts the smallest network that certainly belongs to one party: `192.0.2.1`, also for
 * ::ffff:192.0.2.1, and `2001:db8:1:2::/64`. Text that is not an address is put unchanged. Pure. */
void peer_put_network(struct buf *b, struct str address);

#endif
