/* SPDX-License-Identifier: MIT
 *
 * annex: the main bot, which answers each message that tags it. A word with a slash after its
 * mention is a command (annex_words.h), and such a message calls no bot. The command is carried out
 * after its message was stored, and the main bot says in the room what came of it, or how the
 * command is written, as a reply to that message. Keys are never in the room: they are handed to
 * the one who gave the command, by the callback. On the loop's thread.
 *
 *     @annex /register @name URL|pull|parley:MODEL ["Person Name"] [zulip]
 *     @annex /unregister @name
 *     @annex /rotate @name
 *     @annex /bots
 *     @annex /help
 */
#ifndef PARLEY_BOTS_ROOMS_ANNEX_H
#define PARLEY_BOTS_ROOMS_ANNEX_H

#include "services/bots/bots.h"

/* The wish of a message to the main bot. */
enum annex_wish { ANNEX_NOTHING, ANNEX_ANSWER, ANNEX_COMMAND };
/* `tagged`: names that the message tags besides those in its text. Pure. */
enum annex_wish annex_wish_of(struct str text, const struct str *tagged, size_t tagged_n);

struct annex;
/* `private`: a JSON object for the one who gave the command: what the main bot said as `text`, and
 * keys. Valid inside the callback. */
typedef void annex_cb(void *context, struct str private);

/* Answers the message `id` in `room`, which says `text` and wants an answer: carries out its
 * command and says in the room what came of it. All is borrowed until it returns. `on_end` runs
 * once, never inside this function; it frees what was returned. */
struct annex *annex_start(struct bots *bots, const struct bots_who *who, struct str room,
                          struct str id, struct str text, annex_cb *on_end,
                          void *context) must_check;
/* Gives up: no callback runs. Accepts NULL. */
void annex_cancel(struct annex *annex);

#endif
