/* SPDX-License-Identifier: MIT
 *
 * likeness: rates how certainly two words are the same word: in another form, in a compound, or
 * misspelt. Pure; bounded by TERM_MAX_CHARS.
 */
#ifndef PARLEY_TEXT_LIKENESS_H
#define PARLEY_TEXT_LIKENESS_H

#include "shared/base/str.h"

enum { TERM_MAX_CHARS = 24 };

/* A word as characters, folded, without English endings and accents. */
struct term_word {
    uint32_t chars[TERM_MAX_CHARS];
    unsigned n;
    bool is_code;  /* contains a digit */
    uint64_t hash; /* text_hash(word, 0) */
    uint64_t key;  /* without accents, as in packs (text_word_key) */
    struct str here;
};

/* Certainties: other accents, another ending, part of a compound, misspelt. */
#define LIKENESS_BARE 0.98f
#define LIKENESS_FORM 0.95f
#define LIKENESS_PART 0.7f
#define LIKENESS_TYPO 0.75f

/* Returns 1 for the same word, one of the certainties except LIKENESS_TYPO, or 0. Words with digits
 * are alike only if they are the same. */
float likeness_of(const struct term_word *a, const struct term_word *b);
/* Returns whether one may be a slip of the other. */
bool likeness_is_misspelt(const struct term_word *a, const struct term_word *b);

#endif
