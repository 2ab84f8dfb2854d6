/* SPDX-License-Identifier: MIT
 *
 * stop_words: the words of a language that say little about the subject of a question: articles,
 * pronouns, prepositions, auxiliary verbs, question words, and verbs of asking. A stop word of one
 * language may carry meaning in another ("dies" is "this" in German), so a question is read with
 * the list of its own language: the list that contains most of its words. Pure.
 */
#ifndef PARLEY_TEXT_STOP_WORDS_H
#define PARLEY_TEXT_STOP_WORDS_H

#include "shared/base/str.h"

enum stop_language {
    STOP_ENGLISH,
    STOP_GERMAN,
    STOP_FRENCH,
    STOP_SPANISH,
    STOP_ITALIAN,
    STOP_PORTUGUESE,
    STOP_DUTCH,
    STOP_LANGUAGE_NR
};

/* Returns the languages whose lists contain the word, as bits 1 << enum stop_language. `word` is in
 * lower case (text_put_normal), without an apostrophe. */
unsigned stop_words_languages(struct str word);
/* The same for words that are common in questions but need not be in the answer: "cost", "number",
 * "allowed". */
unsigned stop_words_weak(struct str word);
/* Returns the bytes of the phrase of a Chinese or Japanese question that a text begins with, which
 * says little: "how much", "what". 0 if there is none. */
size_t stop_words_phrase(struct str text);

#endif
