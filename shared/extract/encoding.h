/* SPDX-License-Identifier: MIT
 *
 * encoding: the bytes of texts and web pages as UTF-8. Knows the encodings of the WHATWG Encoding
 * standard by their labels ("latin1" is Windows-1252), and guesses what no one names. ICU converts,
 * uchardet guesses. Its libraries read hostile bytes, so it runs in the sandbox, except for what
 * encoding_is_plain. Any thread.
 */
#ifndef PARLEY_EXTRACT_ENCODING_H
#define PARLEY_EXTRACT_ENCODING_H

#include "shared/base/buf.h"

/* Returns whether `bytes` are UTF-8 already, without escapes that switch to another encoding. */
bool encoding_is_plain(struct str bytes) must_check;
/* Returns whether `bytes` are UTF-16 or UTF-32, with a byte order mark or by the zeros in them. */
bool encoding_is_wide(struct str bytes) must_check;
/* Returns whether `bytes` begin as ISO-2022-KR does, which shifts with control characters. */
bool encoding_has_shifts(struct str bytes) must_check;
/* Returns whether the label is known, in either case and with blanks around it. */
bool encoding_is_known(struct str label) must_check;

/* Puts `bytes` as UTF-8, by the first of these that fits: a byte order mark; UTF-16 or UTF-32
 * without one; UTF-8; the encoding that `label` names; a guess. A bad sequence becomes U+FFFD.
 * Returns false if too much is bad in each of them: the bytes are no text. `out` is empty and takes
 * at least four bytes for each of `bytes`. */
bool encoding_put_utf8(struct buf *out, struct str bytes, struct str label) must_check;

#endif
