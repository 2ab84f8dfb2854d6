/* SPDX-License-Identifier: MIT
 *
 * text: words and sentences for retrieval. Any input is safe. Knows no language but a few English
 * endings and stop words; Chinese, Japanese and Korean characters are words of their own. Pure
 * functions, any thread, no allocation but in a `buf`.
 */
#ifndef PARLEY_TEXT_TEXT_H
#define PARLEY_TEXT_TEXT_H

#include "shared/base/buf.h"
#include "shared/text/chars.h"

enum { TEXT_WORD_MAX_BYTES = 64 };

/* One word, folded (fold.h) and cut to its stem: "Employees" gives "employee". */
struct text_word {
    char at[TEXT_WORD_MAX_BYTES];
    size_t n;
    bool is_ascii;
    bool is_stop;    /* "the", "of": says little */
    struct str here; /* the word as it stands in the text */
};

/* Removes the next word from `*rest`; returns false if none is left. Words past the maximum are
 * truncated.
 */
bool text_next_word(struct str *rest, struct text_word *ret_word);
/* Takes the accents off, which many people leave out: "cafés" becomes "cafe". */
void text_word_bare(struct text_word *word);
/* The hash by which words are found: that of the bare word. Ends up in files. */
uint64_t text_word_key(const struct text_word *word);

/* Words of a text that only hyphens or underlines separate, as they are read; zeroed initially. */
enum { TEXT_PARTS_MAX = 4, TEXT_COMPOUND_MAX_BYTES = 120 };
struct text_compound {
    struct str parts[TEXT_PARTS_MAX];
    unsigned n;
};
/* Takes the next word of the text. Returns true if it continues a compound, and sets `ret_joined`
 * to what that is when it is written as one word: "email" for "e-mail". Never for numbers. */
bool text_compound_next(struct text_compound *compound, struct str here,
                        struct text_word *ret_joined);
/* A 64-bit hash of bytes; the same on every machine, as it ends up in files. */
uint64_t text_hash(struct str s, uint64_t seed);

/* Takes the next sentence off `*rest`, trimmed: it ends at . ! ? (or their CJK forms) before white
 * space, at an empty line, and before a list mark or heading. An empty str at the end. */
struct str text_next_sentence(struct str *rest);

/* Puts `s` in lower case with every run of white space as one space: what "contains" means when
 * people quote passages. */
void text_put_normal(struct buf *b, struct str s);

#endif
