/* SPDX-License-Identifier: MIT
 *
 * text: characters, words and sentences for retrieval. UTF-8; an invalid byte counts as one
 * character U+FFFD, so any input is safe. Knows no language but a few English endings and stop
 * words; Chinese, Japanese and Korean characters are words of their own. Pure functions, any
 * thread, no allocation but in a `buf`.
 */
#ifndef PARLEY_TEXT_TEXT_H
#define PARLEY_TEXT_TEXT_H

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
/* How many characters `s` holds. */
size_t text_length(struct str s);
/* Moves `n` bytes down until s.at[n] starts a character (or is the end). */
size_t text_floor(struct str s, size_t n);

/* Letters and digits of any script. */
bool text_is_word_char(uint32_t code);

enum { TEXT_WORD_MAX_BYTES = 64 };

/* One word, folded to lower case and cut to its stem: "Employees" gives "employee". */
struct text_word {
    char at[TEXT_WORD_MAX_BYTES];
    size_t n;
    bool is_stop;    /* "the", "of": says little */
    struct str here; /* the word as it stands in the text */
};

/* Removes the next word from `*rest`; returns false if none is left. Words past the maximum are
 * truncated.
 */
bool text_next_word(struct str *rest, struct text_word *ret_word);
/* A 64-bit hash of bytes; the same on every machine, as it ends up in files. */
uint64_t text_hash(struct str s, uint64_t seed);

/* Takes the next sentence off `*rest`, trimmed: it ends at . ! ? (or their CJK forms) before white
 * space, at an empty line, and before a list mark or heading. An empty str at the end. */
struct str text_next_sentence(struct str *rest);

/* Puts `s` in lower case with every run of white space as one space: what "contains" means when
 * people quote passages. */
void text_put_normal(struct buf *b, struct str s);

#endif
