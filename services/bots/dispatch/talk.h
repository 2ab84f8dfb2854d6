/* SPDX-License-Identifier: MIT
 *
 * talk: the input of a bot for one message: the message, the talk before it, and the users who
 * occur in it. It also writes the bodies of requests with that input: annex's own
 * (request_annex.c), that of Zulip's outgoing webhooks (request_zulip.c), and a chat for a model
 * (request_chat.c).
 *
 * Everything is borrowed, and texts are JSON already, as they are stored. Pure functions, any
 * thread.
 */
#ifndef PARLEY_SERVICES_BOTS_TALK_H
#define PARLEY_SERVICES_BOTS_TALK_H

#include "shared/base/buf.h"

enum {
    TALK_CONTEXT_MAX = 50,
    /* A body at most: context, conversation and message of 512 KiB each, and the names in them. */
    TALK_BODY_MAX_BYTES = 4 << 20,
};

/* One message. */
struct talk_message {
    struct str id;         /* as clients see it; no quote or backslash in it */
    struct str from, text; /* JSON strings */
    struct str tagged;     /* a JSON array of strings */
    struct str timestamp;  /* a JSON value; n == 0: the ms with which a room's id begins */
    struct str root;       /* id of the first message of its chain of replies; n == 0: none */
    bool is_own;           /* the bot said it */
};

struct talk {
    const struct talk_message
        *context; /* before the message; ascending; TALK_CONTEXT_MAX at most */
    size_t context_n;
    /* The questions to the bot and its answers before, in this room, ascending; those of one `root`
     * are one conversation. */
    const struct talk_message *exchanges;
    size_t exchanges_n;
    struct talk_message message;
    struct str room;      /* id; an evaluation has one of its own making */
    struct str room_name; /* JSON string */
};

/* Who it is said to. */
struct talk_bot {
    struct str username, emulates; /* JSON strings */
    struct str token;              /* Zulip's `token`: the caller key; never logged */
    struct str url; /* of this node or cluster, for made-up addresses; n == 0: none */
};

/* Each puts one JSON value. The caller gives `b` TALK_BODY_MAX_BYTES and asks whether it is over.
 */
void talk_put_annex(struct buf *b, const struct talk *talk, const struct talk_bot *bot);
void talk_put_zulip(struct buf *b, const struct talk *talk, const struct talk_bot *bot);
/* A list of OpenAI's messages. */
void talk_put_chat(struct buf *b, const struct talk *talk, const struct talk_bot *bot);
/* No JSON: the text of the message, without the mention of the bot with which it begins. */
void talk_put_question(struct buf *b, const struct talk *talk, const struct talk_bot *bot);
/* One Message of the contract: `{"from","tagged","id","text","timestamp"}`. */
void talk_put_message(struct buf *b, const struct talk_message *message);

#endif
