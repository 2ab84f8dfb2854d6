/* SPDX-License-Identifier: MIT
 *
 * usage: reports a wrong word on a command line: the word, the nearest one that exists, and where
 * the others are listed. Each function writes one line to standard error and returns false; the
 * command then exits with 2. `command` is "serve", or "" for `parley` itself.
 */
#ifndef PARLEY_BASE_USAGE_H
#define PARLEY_BASE_USAGE_H

#include "shared/base/buf.h"

/* "unknown flag --lisen: did you mean --listen?": `what` is "flag", `prefix` "--". `meant.at` is
 * NULL if no name is close (shared/base/nearest.h). */
bool usage_unknown(const char *command, const char *what, const char *prefix, struct str given,
                   struct str meant);
/* "account takes list, add or remove, not 'lst': did you mean list?". `words` is "list|add|remove";
 * `given` may be NULL: none was given. */
bool usage_word(const char *command, const char *words, const char *given);
/* For a command without words, of the first that was given. */
bool usage_flags_only(const char *command, const char *given);

/* Puts "list, add or remove" of "list|add|remove". */
void buf_put_words(struct buf *b, const char *words);

#endif
