/* SPDX-License-Identifier: MIT
 *
 * shown: names as people see them. A name that comes from outside may hold letters that nobody
 * sees and that change what is seen around them: U+202E turns the end of a file name around, a
 * joiner makes two names out of one. Every text that is stored or printed as a name passes here
 * once, where it enters. Pure; any thread.
 */
#ifndef PARLEY_BASE_SHOWN_H
#define PARLEY_BASE_SHOWN_H

#include "shared/base/buf.h"

/* Puts `s` as UTF-8 without control characters (C0, DEL, C1, U+2028, U+2029) and without those
 * that are not seen: marks and overrides of direction, zero-width spaces and joiners, soft hyphens,
 * byte order marks, tags. Bytes that are no UTF-8 become U+FFFD. At most three times its length. */
void buf_put_shown(struct buf *b, struct str s);

#endif
