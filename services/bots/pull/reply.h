/* SPDX-License-Identifier: MIT
 *
 * reply: stores what a bot says to a delivery, for a request that has its caller key. It is a
 * message in the room afterwards, as if it had been in the response to a call. What was begun comes
 * to its end although the client has left. On the loop's thread.
 */
#ifndef PARLEY_BOTS_PULL_REPLY_H
#define PARLEY_BOTS_PULL_REPLY_H

#include "services/bots/registry/caller_key.h"
#include "services/bots/rooms/message.h"

/* Runs once, unless the request was answered: 404 for a delivery that does not exist or is another
 * bot's, 409 for one that was answered or is over, or an error of the store. */
typedef void reply_cb(struct request *r, const struct message *message);
/* `text`: 1 byte to MESSAGE_TEXT_MAX_BYTES; borrowed until it returns, as are all others. Takes
 * the request's state. */
void reply_start(struct request *r, const struct caller *caller, struct str room,
                 struct str delivery, struct str text, reply_cb *on_stored);

#endif
