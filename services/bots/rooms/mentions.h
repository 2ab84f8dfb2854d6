/* SPDX-License-Identifier: MIT
 *
 * mentions: finds `@name` in the text of a message. A mention begins with an `@` that does not
 * follow a letter, a digit or one of `-_.` (so that mail addresses are none) and goes on with
 * letters, digits and, inside, `-_.`; white space and other punctuation end it. Linear in the text.
 * Pure functions, any thread.
 */
#ifndef PARLEY_BOTS_ROOMS_MENTIONS_H
#define PARLEY_BOTS_ROOMS_MENTIONS_H

#include "shared/base/str.h"

enum { MENTIONS_MAX = 50 };

/* Takes the next mention of `*rest`: its name without the `@`, of 1 byte or more; `*rest` is then
 * the text after it. False at the end. */
bool mentions_next(struct str *rest, struct str *ret_name) must_check;
/* The different names that `text` mentions, of 1 to 128 bytes, in the order of their first mention;
 * those after the first `most` are left out. Returns how many were written to `names`. */
size_t mentions_find(struct str text, struct str *names, size_t most);

#endif
