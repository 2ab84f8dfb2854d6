/* SPDX-License-Identifier: MIT
 *
 * shown: names without invisible characters. Names from outside may contain invisible characters
 * that change how the text around them is displayed: U+202E reverses the end of a file name, and a
 * joiner makes two different names look the same. Every text that is stored or printed as a name
 * passes through here once, on entry. Pure; any thread.
 */
#ifndef PARLEY_BASE_SHOWN_H
#define PARLEY_BASE_SHOWN_H

#include "shared/base/buf.h"

/* Puts `s` as UTF-8 without control characters (C0, DEL, C1, U+2028, U+2029) and without invisible
 * characters: direction marks and overrides, zero-width spaces and joiners, soft hyphens, byte
 * order marks, tags. Bytes that are not UTF-8 become U+FFFD. The result is at most three times as
 * long. */
void buf_put_shown(struct buf *b, struct str s);
/* The same for a text of several lines: line feeds and tabs stay, and the joiners that scripts and
 * emoji need. */
void buf_put_shown_text(struct buf *b, struct str s);

/* Puts what a client sent as error messages repeat it: between single quotes, as buf_put_shown
 * writes it, with `<` and `>` as U+2039 and U+203A, so that a page that shows the message does not
 * run it, and at most QUOTED_MAX_BYTES of it, then `...`. The only way to repeat input. Never for
 * credentials. */
enum { QUOTED_MAX_BYTES = 64 };
void buf_put_quoted(struct buf *b, struct str s);

#endif
