/* SPDX-License-Identifier: MIT
 *
 * conversation: the input of an evaluation: the messages of a conversation that took place, and the
 * person that the bot emulates. A turn is a message from somebody else, followed by one or several
 * from that person in a row: its originals, each of which is an accepted answer.
 *
 * It is kept as canonical JSON, which is also what Redis stores: equal conversations are equal
 * bytes. Reading takes linear time. Owned by the caller, any thread.
 */
#ifndef PARLEY_SERVICES_BOTS_EVALUATE_CONVERSATION_H
#define PARLEY_SERVICES_BOTS_EVALUATE_CONVERSATION_H

#include "shared/base/json_scan.h"

enum {
    CONVERSATION_MAX_BYTES = 4 << 20, /* as it is stored */
    CONVERSATION_MESSAGES_MAX = 20000,
    CONVERSATION_TURNS_MAX = 2000,
    CONVERSATION_ORIGINALS_MAX = 50, /* of a turn */
    CONVERSATION_TEXT_MAX_BYTES = 64 << 10,
    CONVERSATION_NAME_MAX_BYTES = 128, /* of `from`, `id`, `timestamp` and a member of `tagged` */
    CONVERSATION_TAGGED_MAX = 20,
    CONVERSATION_REASON_BYTES = 400,
};

/* Spans of the canonical text. */
struct conversation_message {
    struct json_span from, text, id; /* texts */
    struct str tagged;               /* a JSON array of strings */
    struct str timestamp;            /* a JSON string, or "null" */
};

struct conversation_turn {
    unsigned message;    /* the place of the message that is answered */
    unsigned original_n; /* of messages that follow it */
};

struct conversation {
    struct buf text; /* {"person":"…","messages":[…]} */
    struct json_span person;
    struct conversation_message *messages;
    struct conversation_turn *turns;
    unsigned message_n, turn_n;
};

enum conversation_fault {
    CONVERSATION_GOOD,
    CONVERSATION_BAD,      /* `reason` says what is wrong, and in which message */
    CONVERSATION_TOO_LARGE /* as well */
};

/* Reads a list of Messages `{"from","text","id","tagged","timestamp"}`. The last three may
 * be absent or null; other members are ignored. In steps, because four megabytes take a while. */
struct conversation_reader {
    struct conversation c; /* what has been read */
    struct str person, rest;
    struct buf plain; /* of one member */
    char *reason;
    size_t place; /* of the message, from 1 */
    bool is_bad;
};

/* `messages`: a scanned value, which is borrowed like the others. `person`: the one that the bot
 * emulates.
 */
void conversation_begin(struct conversation_reader *reader, const struct json_span *messages,
                        struct str person, char reason[CONVERSATION_REASON_BYTES]);
/* Reads messages of about so many bytes. Returns whether some are left. */
bool conversation_go_on(struct conversation_reader *reader, size_t bytes) must_check;
/* After the last one. Unless the result is CONVERSATION_GOOD nothing is left to free; `reason` is
 * then a sentence for the client. */
enum conversation_fault conversation_end(struct conversation_reader *reader,
                                         struct conversation *ret_conversation) must_check;
/* Instead of that. Accepts a zeroed one, and one that has ended. */
void conversation_cancel(struct conversation_reader *reader);
/* Loads what conversation_end returned from the text that was stored. */
bool conversation_load(struct str text, struct conversation *ret_conversation) must_check;
/* Accepts a zeroed one. */
void conversation_fini(struct conversation *conversation);

#endif
