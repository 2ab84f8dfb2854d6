/* SPDX-License-Identifier: MIT
 *
 * annex_words: reads what a message wants of the main bot (annex.h): a command is the first word
 * after the bot's mention that begins with a slash, whatever is before it, and the words that
 * follow. Pure functions, any thread; results borrow from the text.
 */
#ifndef PARLEY_BOTS_ROOMS_ANNEX_WORDS_H
#define PARLEY_BOTS_ROOMS_ANNEX_WORDS_H

#include "shared/base/str.h"

enum { ANNEX_WORDS_MAX = 8 };

struct annex_words {
    struct str name; /* of the command, with its slash; "" if there is none */
    /* The words that follow: separated by white space, "within quotes" without them. */
    struct str words[ANNEX_WORDS_MAX];
    bool is_quoted[ANNEX_WORDS_MAX];
    size_t n;
    bool is_over; /* more words, or a quote that does not end */
};

/* False: the message does not tag the main bot. `is_tagged`: it does without a mention. */
bool annex_words_read(struct str text, bool is_tagged, struct annex_words *ret_words) must_check;
/* Takes the next word off `*rest`; n == 0: none is left. */
struct str annex_words_next(struct str *rest);
/* The name in a word such as `@name`; n == 0: it is none. */
struct str annex_name_of(struct str word);

#endif
