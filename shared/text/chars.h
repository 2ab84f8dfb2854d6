/* SPDX-License-Identifier: MIT
 *
 * chars: the characters of texts. UTF-8; an invalid byte counts as one character U+FFFD, so any
 * input is safe. Pure functions, any thread.
 */
#ifndef PARLEY_TEXT_CHARS_H
#define PARLEY_TEXT_CHARS_H

#include "shared/base/buf.h"

/* Reads the character at `s.at[0]` and returns how many bytes it takes; 0 only at the end. */
static inline size_t text_char(struct str s, uint32_t *ret_code);
/* The same; what text_char calls for all but ASCII, which is most of what there is. */
size_t text_char_any(struct str s, uint32_t *ret_code);
static inline size_t text_char(struct str s, uint32_t *ret_code)
{
    if (s.n == 0 || (unsigned char)s.at[0] >= 0x80)
        return text_char_any(s, ret_code);
    *ret_code = (unsigned char)s.at[0];
    return 1;
}
/* Writes the character in UTF-8, up to 4 bytes, and returns how many. */
size_t text_put_char(char *at, uint32_t code);
/* Returns the number of characters in `s`. */
size_t text_length(struct str s);
/* Moves `n` bytes down until s.at[n] starts a character (or is the end). */
size_t text_floor(struct str s, size_t n);

#endif
