/* SPDX-License-Identifier: MIT
 *
 * say: a person says something in a room, over HTTP or on a socket. The message is posted (post.h);
 * if it tags the main bot, that answers after that (annex.h), and what concerns only its sender,
 * such as keys, is handed to them and to nobody else.
 *
 * What was begun comes to its end although its sender has left. On the loop's thread.
 */
#ifndef PARLEY_BOTS_ROOMS_SAY_H
#define PARLEY_BOTS_ROOMS_SAY_H

#include "services/bots/rooms/post.h"
#include "services/bots/rooms/speech.h"

/* Valid inside the callback. */
struct said {
    const struct post_end *end;
    struct str private; /* a JSON object for the sender; n == 0: none. Never logged */
};

struct saying;
typedef void said_cb(void *context, const struct said *said);

/* `who`, `speech`, `room` and `key` (once.h; n == 0: none) are borrowed until it returns. `on_said`
 * runs once, never inside this function, unless say_leave comes first. */
struct saying *say_start(struct bots *bots, const struct bots_who *who, struct str room,
                         const struct speech *speech, uint64_t max_stored,
                         uint64_t max_stored_per_user, struct str key, said_cb *on_said,
                         void *context) must_check;
/* Nobody waits for the callback any more. Accepts NULL. */
void say_leave(struct saying *saying);

/* For rooms_component, after the queue has gone: what is still under way is refused. */
void say_end_all(struct rooms *rooms);

#endif
