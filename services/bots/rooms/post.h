/* SPDX-License-Identifier: MIT
 *
 * post: the path of every new message: of people over HTTP and sockets, of the main bot, and the
 * replies of bots to their deliveries. It finds the mentions, stores the message, looks up on the
 * cluster's shard the names that the room's shard does not know, and passes deliveries that this
 * node got to dispatch (bots_component.on_delivery).
 *
 * A message that was begun comes to its end although its sender has left: only the callback does
 * not run. On the loop's thread.
 */
#ifndef PARLEY_BOTS_ROOMS_POST_H
#define PARLEY_BOTS_ROOMS_POST_H

#include "services/bots/bots.h"
#include "services/bots/rooms/message.h"

enum { POST_TAGS_MAX = 20, POST_DETAIL_BYTES = 1024 };

enum post_kind {
    POST_PERSON,
    POST_ANNEX, /* of the main bot; calls no bot */
    POST_REPLY  /* of a bot, to a delivery */
};

/* All is borrowed until post_start returns. */
struct post {
    enum post_kind kind;
    struct str room;      /* has a room's form */
    struct str namespace; /* the sender's, as in struct bots_who */
    struct str text;      /* UTF-8 of 1 to MESSAGE_TEXT_MAX_BYTES */
    /* POST_PERSON; of POST_ANNEX, for whom it speaks. */
    const struct bots_who *who;
    struct str reply_to;                      /* n == 0: none. Of POST_REPLY, ignored */
    const struct str *tagged;                 /* plain names, which must exist */
    size_t tagged_n;                          /* at most POST_TAGS_MAX */
    bool is_command;                          /* calls no bot */
    struct str key;                           /* once_key of its request; n == 0: none */
    uint64_t max_stored, max_stored_per_user; /* shared/ask/storage_limit.h; NO_NUMBER: none */
    /* POST_REPLY */
    struct str bot;      /* its plain username */
    struct str delivery; /* its id */
    /* The number of the lease under which it is answered; 0: the bot answers later, or has pulled
     * it. */
    uint64_t fence;
};

enum post_outcome {
    POSTED,
    POST_REFUSED,  /* `error` and `detail` say why; nothing was stored */
    POST_STORED,   /* the storage limit is reached; `refusal` as reply_refuse reads it */
    POST_LOST,     /* POST_REPLY: another node has the delivery, or it has ended otherwise */
    POST_ANSWERED, /* POST_REPLY: it was answered before */
    POST_NR
};

/* Valid inside the callback. */
struct post_end {
    enum post_outcome outcome;
    enum err error;
    const char *detail;     /* a sentence; NULL: the error's own text */
    struct str refusal;     /* the reply of the verb, its tag included */
    struct message message; /* as it was stored */
    bool is_again;          /* under that key, and before */
};

struct posting;
typedef void post_cb(void *context, const struct post_end *end);

/* `on_end` runs once, never inside this function, unless post_leave comes first. */
struct posting *post_start(struct bots *bots, const struct post *post, post_cb *on_end,
                           void *context) must_check;
/* Nobody waits for the callback any more. Accepts NULL. */
void post_leave(struct posting *posting);

/* For rooms_component, after all who use this have gone: what is still under way is given up. */
void post_end_all(struct rooms *rooms);

#endif
