/* SPDX-License-Identifier: MIT
 *
 * link: connects a context of hiredis with the loop: hiredis learns when its socket may be read and
 * written, over TLS once the handshake is complete. It neither connects nor sends. One per context,
 * on the loop's thread.
 */
#ifndef PARLEY_REDIS_LINK_H
#define PARLEY_REDIS_LINK_H

#include "shared/op/loop.h"

struct redis_address;
struct redisAsyncContext;

/* Attaches `ac`, which has begun to connect and has its callbacks; hiredis destroys the link with
 * it. Afterwards the h2o socket owns the descriptor. If the TLS handshake fails, `on_failed` runs
 * inside a turn of the loop with ac->data and the reason, and must free `ac`. Aborts if memory runs
 * out. */
void redis_link_attach(struct loop *loop, struct redisAsyncContext *ac,
                       const struct redis_address *address,
                       void (*on_failed)(void *data, const char *reason));
/* Returns whether the TLS handshake is still under way. `ac` may be NULL. */
bool redis_link_is_shaking(const struct redisAsyncContext *ac);

#endif
