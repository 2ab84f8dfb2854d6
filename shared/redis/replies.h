/* SPDX-License-Identifier: MIT
 *
 * replies: allocates each reply of Redis as a whole. hiredis itself allocates two pieces
 * for each string of a reply, and frees them one by one; a turn's reply has hundreds.
 */
#ifndef PARLEY_REDIS_REPLIES_H
#define PARLEY_REDIS_REPLIES_H

struct redisReader;

/* Call it before the reader's first reply. From then on its replies are freed by its own
 * freeObject, never by freeReplyObject; hiredis does so for an asynchronous connection. */
void redis_replies_pool(struct redisReader *reader);

#endif
