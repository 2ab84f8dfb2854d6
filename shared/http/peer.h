/* SPDX-License-Identifier: MIT
 *
 * peer: who is at the other end, and which addresses have failed to log in too often. The counting
 * is Redis's (lua/auth/failure.lua); `struct blocks` is one thread's cache of its verdicts, which
 * may be lost at any moment. On the loop's thread, but for peer_check_list, which is pure.
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

struct blocks *blocks_create(void) must_check;
/* Accepts NULL. */
void blocks_destroy(struct blocks *blocks);
/* Refuses `address` (a name, see buf_put_name) until `now_ms + ttl_ms`. */
void blocks_add(struct blocks *blocks, struct str address, uint64_t now_ms, uint64_t ttl_ms);
/* Milliseconds for which the request's address is refused; 0: it is not. */
uint64_t blocks_left_ms(struct blocks *blocks, struct request *r, uint64_t now_ms);

#endif
