/* SPDX-License-Identifier: MIT
 *
 * message: a message of a room as scripts return it (lua/bots/messages.lua) and as clients see it.
 * Pure functions, any thread; results borrow from what was read.
 */
#ifndef PARLEY_BOTS_ROOMS_MESSAGE_H
#define PARLEY_BOTS_ROOMS_MESSAGE_H

#include "shared/queue/lines.h"

enum {
    ROOM_ID_BYTES = 24, /* hex digits */
    ROOM_NAME_MAX_BYTES = 128,
    MESSAGE_LINES = 7,
    MESSAGE_TEXT_MAX_BYTES = 64 << 10,
    MESSAGE_ID_MAX_BYTES = 37, /* "<ms>-<n>" */
    /* As JSON for a client: a text may grow sixfold, and so may the names. */
    MESSAGE_JSON_MAX_BYTES = 512 << 10,
};

/* "u": a person, "b": a bot, "a": the main bot. */
struct message {
    struct str id;                 /* "<ms>-<n>" */
    struct str kind;               /* one of these letters */
    struct str from, text, tagged; /* JSON: two strings, a list of strings */
    struct str reply_to;           /* an id; n == 0: none */
    uint64_t hop;
};

/* Reads the next MESSAGE_LINES lines. */
struct message message_next(struct lines *lines);
/* Puts it as an object: {"id","from","text","tagged","reply_to","timestamp"}, on one line. */
void message_put(struct buf *b, const struct message *message);
/* Puts when the message with that id was stored, as a JSON string: RFC 3339 with ms, in UTC. */
void message_put_time(struct buf *b, struct str id);

/* Returns whether `text` has the form of a message's id, or of a room's. */
bool message_is_id(struct str text);
bool message_is_room(struct str text);
/* Compares ids by age: below 0 if `a` is older. "" is older than all. */
int message_compare(struct str a, struct str b);

#endif
