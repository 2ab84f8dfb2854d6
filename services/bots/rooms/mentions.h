/* SPDX-License-Identifier: MIT
 *
 * mentions: finds `@name` in the text of a message. A mention begins with an `@` that does not
 * follow a letter, a digit or one of `-_.` (so that mail addresses are none) and continues with
 * letters, digits and, inside, `-_.`; white space and other punctuation end it.
 *
 * What is shown as code, quoted or hidden mentions nobody: what is in no paragraph (paragraphs.h),
 * and within one code spans in backticks and HTML comments, as CommonMark has them (0.31.2, 6.1 and
 * 6.6). Nor do addresses of pages (`scheme://` or `www.`). Linear in the text. Pure functions, any
 * thread.
 */
#ifndef PARLEY_BOTS_ROOMS_MENTIONS_H
#define PARLEY_BOTS_ROOMS_MENTIONS_H

#include "services/bots/rooms/paragraphs.h"

enum { MENTIONS_MAX = 50, MENTIONS_TICKS_MAX = 80 };

/* A place in a text, which is borrowed. */
struct mentions {
    struct paragraphs paragraphs;
    struct str text;
    size_t at;
    size_t end;     /* of the paragraph */
    bool is_within; /* the character before belongs to a word */
    /* Where the last run of that many backticks begins; longer ones delimit nothing. */
    size_t last_ticks[MENTIONS_TICKS_MAX + 1];
    size_t last_comment_end; /* where the last `-->` begins */
};

void mentions_begin(struct mentions *mentions, struct str text);
/* The next mention: its name without the `@`, of 1 byte or more, inside the text. False at the
 * end. */
bool mentions_next(struct mentions *mentions, struct str *ret_name) must_check;
/* The different names that `text` mentions, of 1 to 128 bytes, in the order of their first mention;
 * those after the first `most` are left out. Returns how many were written to `names`. */
size_t mentions_find(struct str text, struct str *names, size_t most);

#endif
