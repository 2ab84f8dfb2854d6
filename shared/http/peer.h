/* SPDX-License-Identifier: MIT
 *
 * peer: who is at the other end. On the loop's thread, except what is pure.
 */
#ifndef PARLEY_HTTP_PEER_H
#define PARLEY_HTTP_PEER_H

#include "shared/http/request.h"

enum { PEER_TEXT_MAX = 64 };

/* True when `list` is NULL, empty or a comma list of addresses and CIDR blocks; else false, and a
 * reason for people. */
bool peer_check_list(const char *list, char *reason, size_t reason_size) must_check;

/* The client's address: the peer's, or behind a trusted proxy the last one in X-Forwarded-For that
 * is no trusted proxy. "unix" for a Unix socket. Kept in r->peer, in the request's memory. */
struct str peer_address(struct request *r);

/* Puts the network of an address, the smallest that one party surely has: `192.0.2.1`, also for
 * ::ffff:192.0.2.1, and `2001:db8:1:2::/64`. What is no address is put as it stands. Pure. */
void peer_put_network(struct buf *b, struct str address);

#endif
