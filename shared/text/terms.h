/* SPDX-License-Identifier: MIT
 *
 * terms: reduces a question to the words to look for in a text: each word once, without the stop
 * words of its language. Also rates how certainly a word of a text is one of these terms. A term
 * matches the same word, the word with another ending or other accents, a compound that contains
 * it, or a misspelling; hyphens may be left out. A term with a digit is a number or a code and
 * matches only exactly. Pure.
 */
#ifndef PARLEY_TEXT_TERMS_H
#define PARLEY_TEXT_TERMS_H

#include "shared/text/likeness.h"
#include "shared/text/text.h"

enum { TERMS_MAX = 32, TERM_COMPOUNDS_MAX = 8 };

struct term {
    struct term_word word;
    double weight; /* 1 for an ordinary word; the caller may change it */
    bool is_name;  /* one of several capitalized words in a row, or of one and a number */
    bool is_weak;  /* common in questions, need not be in the answer (stop_words.h) */
    bool is_spelt; /* the texts contain this spelling, so no other spelling counts */
};

/* A compound of the question, which texts also write as one word. */
struct term_compound {
    uint64_t key;   /* of that word */
    uint32_t parts; /* which terms it is made of: 1 << place */
};

struct terms {
    struct term at[TERMS_MAX];
    size_t n, own_n; /* the first own_n come from the question, the others from its context */
    struct term_compound compounds[TERM_COMPOUNDS_MAX];
    size_t compound_n;
};

/* The certainty that a text contains each term, 0 to 1. */
struct terms_found {
    float at[TERMS_MAX];
};

/* Removes the next word from `*rest`; returns false at the end. Skips elided articles ("l'acqua").
 */
bool terms_next_word(struct str *rest, struct term_word *ret_word);
/* Reads the terms of a question, in order, then those of its context, which may be empty. All
 * context terms together weigh half as much as those of the question. Overwrites `terms`. */
void terms_read(struct terms *terms, struct str question, struct str context);
/* Marks the terms that the text spells as the question does. Call it with every text before the
 * first terms_match. */
void terms_learn(struct terms *terms, struct str text);
/* Raises `found` for the terms that the text contains, to at most `most`. Returns the number of
 * words in the text. */
size_t terms_match(const struct terms *terms, struct str text, float most,
                   struct terms_found *found);
/* Returns whether a text with these terms can be about the question at all. It must contain
 * something besides numbers of one or two digits, and every code and larger number of the question.
 * If the question has a name of several words, it must also contain part of a name and the
 * question's first term that is not part of one. */
bool terms_agree(const struct terms *terms, const struct terms_found *found);
/* Returns whether every code and larger number of the question was found. */
bool terms_has_codes(const struct terms *terms, const struct terms_found *found);
/* The sum of all weights, and the sum weighted by what was found. */
double terms_weight(const struct terms *terms);
double terms_weigh(const struct terms *terms, const struct terms_found *found);

#endif
