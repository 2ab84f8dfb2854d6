/* SPDX-License-Identifier: MIT
 *
 * once: Idempotency-Key, for all routes that create something (struct route, takes_key). The same
 * request under the same key creates it once and gets the same answer for 24 hours; a different
 * request under that key gets 422. A key belongs to its account.
 *
 * The verb that creates stores its reply under the key, in the same step (lua/turn/made.lua), so a
 * node that dies before or after it leaves no doubt. With several shards, the key's own shard binds
 * it to one request first, because what is created may be on any shard.
 *
 * What makes two requests the same: method, path, OnBehalfOf and body. Boundaries of forms do not
 * count, since clients choose new ones when they send again. On the loop's thread.
 */
#ifndef PARLEY_HTTP_ONCE_H
#define PARLEY_HTTP_ONCE_H

#include "shared/http/request/request.h"

enum { ONCE_KEY_MAX_BYTES = 128 };

/* The request's key as verbs take it: "<digest of the request> <account>:<key>"; n == 0: it has
 * none, or its route takes none. In the request's pool. */
struct str once_key(const struct request *r);
/* Writes 2 * `bytes` hex digits, at most 40, and a NUL: the id of what is to be created. Random,
 * or under a key always the same: what is created may be where its id says. */
void once_id(struct str key, size_t bytes, char *ret_hex);

/* --- for handle.c and start.c --- */

/* Reads a part of the request for its key. True if there is more of it; then the key is known. */
bool once_read_some(struct request *r);
/* Returns whether the key must be bound before the handler runs. */
bool once_must_bind(const struct request *r);
/* Binds it, then runs `then`; a key of a different request gets 422. */
void once_bind(struct request *r, handler *then);
/* Frees the key of a refused request, so that another one may use it. */
void once_unbind(struct request *r);
void once_fini(struct request *r);

#endif
