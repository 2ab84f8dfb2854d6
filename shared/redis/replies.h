/* SPDX-License-Identifier: MIT
 *
 * replies: allocates each reply of Redis as a whole. hiredis itself allocates two pieces
 * for each string of a reply, and frees them one by one; a turn's reply has hundreds. A number has
 * its digits in `str`, too.
 */
#ifndef PARLEY_REDIS_REPLIES_H
#define PARLEY_REDIS_REPLIES_H

#include "shared/base/str.h"

struct redisReader;
struct redisReply;

/* Call it before the reader's first reply. From then on its replies are freed by its own
 * freeObject, never by freeReplyObject; hiredis does so for an asynchronous connection. */
void redis_replies_pool(struct redisReader *reader);
/* Keeps a reply of such a reader, a whole one, beyond its callback: it is the caller's until
 * redis_reply_free. */
struct redisReply *redis_reply_keep(const struct redisReply *reply) must_check;
/* Accepts NULL. */
void redis_reply_free(struct redisReply *reply);

#endif
