/* SPDX-License-Identifier: MIT
 *
 * talk_read: a delivery's message and what was said before it, from the reply of the verb
 * delivery_read, as the bodies of requests need it (talk.h). One per reading; on any thread.
 */
#ifndef PARLEY_SERVICES_BOTS_TALK_READ_H
#define PARLEY_SERVICES_BOTS_TALK_READ_H

#include "services/bots/dispatch/talk.h"

struct talk_reading {
    struct talk talk;              /* borrows from the reply */
    struct talk_message *messages; /* own memory */
};

/* The room's id is for the caller to set. `username`: the bot's, a JSON string; its own messages
 * are marked. False if the reply is not "ok" (the room or the delivery has gone): nothing to free
 * then. */
bool talk_read(struct talk_reading *ret_reading, struct str reply, struct str username) must_check;
void talk_read_fini(struct talk_reading *reading);

#endif
