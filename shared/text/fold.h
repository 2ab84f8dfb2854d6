/* SPDX-License-Identifier: MIT
 *
 * fold: characters as search compares them: without what people cannot see or do not type.
 * Normalized and case-folded by NFKC_Casefold (Unicode Standard, section 3.13), which joins full
 * and half width, ligatures and decomposed letters, and drops soft hyphens and what else has no
 * width. Points of Arabic and Hebrew, which are rarely written, are dropped, too. Pure functions,
 * any thread.
 */
#ifndef PARLEY_TEXT_FOLD_H
#define PARLEY_TEXT_FOLD_H

#include "shared/base/buf.h"

/* The longest that one character becomes is U+FDFA with 18; marks that follow add to it. */
enum { FOLDED_MAX = 24 };

enum fold_kind {
    FOLD_OTHER,     /* white space, punctuation, symbols */
    FOLD_WORD,      /* letters, digits, and marks on them */
    FOLD_WORD_HIGH, /* the same, written as a superscript */
    FOLD_NOTHING    /* has no width: part of the word around it */
};

/* A character with the marks that follow it. */
struct folded {
    uint32_t first; /* its first code point, as it is in the text */
    uint32_t at[FOLDED_MAX];
    unsigned n;
    enum fold_kind kind;
};

/* Reads the character at `s.at[0]`, and returns how many bytes it takes; 0 only at the end. */
static inline size_t fold_next(struct str s, struct folded *ret_folded);
/* The same; what fold_next calls for all but ASCII, which is most of what there is. */
size_t fold_next_any(struct str s, struct folded *ret_folded);

/* Letters, marks and digits of any script. */
bool fold_is_word(uint32_t code);

/* The letter without its accents, of scripts that are also typed without them (Latin, Greek,
 * Cyrillic, Arabic); 0 for a combining accent. */
uint32_t fold_bare(uint32_t code);

static inline bool fold_is_ascii(struct str s, size_t i)
{
    return i >= s.n || (unsigned char)s.at[i] < 0x80;
}

static inline size_t fold_next(struct str s, struct folded *folded)
{
    if (s.n == 0 || !fold_is_ascii(s, 0) || !fold_is_ascii(s, 1))
        return fold_next_any(s, folded);
    uint32_t c = (unsigned char)s.at[0], lower = c | 0x20;
    bool is_letter = lower >= 'a' && lower <= 'z';
    folded->first = c;
    folded->at[0] = is_letter ? lower : c;
    folded->n = 1;
    folded->kind = is_letter || (c >= '0' && c <= '9') ? FOLD_WORD : FOLD_OTHER;
    return 1;
}

#endif
