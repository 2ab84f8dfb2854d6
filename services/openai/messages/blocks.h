/* SPDX-License-Identifier: MIT
 *
 * blocks: one message of /v1/messages as messages of a chat (translate.h). Pure, any thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_MESSAGES_BLOCKS_H
#define PARLEY_SERVICES_OPENAI_MESSAGES_BLOCKS_H

#include "services/openai/members.h"

enum { MESSAGE_FAULT_BYTES = 200 };

/* Where a fault is: `messages.3.content.2`. */
struct place {
    char *fault; /* MESSAGE_FAULT_BYTES */
    size_t message, block;
};

/* Writes the fault: the place, and what is expected there. Returns false. */
bool blocks_fault(const struct place *place, const char *expected);
/* Puts the message as chat messages, each after a comma, as those after the first. */
bool blocks_put(struct buf *b, const struct members *message, struct place *place) must_check;
/* Puts a chat message of the system after a comma. Returns false if its content is not a text or a
 * list of blocks of type text. */
bool blocks_put_system(struct buf *b, const struct json_span *content) must_check;

#endif
