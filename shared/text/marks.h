/* SPDX-License-Identifier: MIT
 *
 * marks: the marks by which an answer names its passages, as models write them: [1], [1, 3], [1-3],
 * with the brackets of several scripts and keyboards, 【1】 and ［1］, with full-width digits, as
 * footnotes, [^1], and with a name after a dagger, 【1†source】. What only looks like a mark, such
 * as [-1] or [1.5], is one that names nothing: readers take it for one. Pure, any thread.
 */
#ifndef PARLEY_TEXT_MARKS_H
#define PARLEY_TEXT_MARKS_H

#include "shared/base/buf.h"

enum {
    MARKS_MAX_BYTES = 128,   /* of a mark, where a text is read forwards */
    MARKS_BRACKET_BYTES = 3, /* of a bracket, at most */
};

enum marks_fit {
    MARKS_NONE,
    MARKS_BEGUN, /* it may become a mark, even within a character */
    MARKS_WHOLE, /* *ret_bytes of it are one */
};
/* Returns whether `s` begins with a mark, or may. `ret_bytes` may be NULL. Linear in the mark. */
enum marks_fit marks_fit(struct str s, size_t *ret_bytes);
/* The bytes of the mark that `s` begins with; 0: none, or none within MARKS_MAX_BYTES. */
size_t marks_measure(struct str s);
/* Sets is_named[n] for each n from 1 to `most` that `mark` names, whole as marks_fit says. Leaves
 * the others. */
void marks_name(struct str mark, bool *is_named, unsigned most);
/* The bytes of the bracket that `s` begins with; 0: none. */
size_t marks_opening(struct str s);
size_t marks_closing(struct str s);

/* Puts `text` with its own marks in parentheses, (3), as models copy them. Code stays as it is:
 * within backquotes, after a name such as `a` or `my_list`, and before `=`. Linear in its bytes. */
void marks_put_quoted(struct buf *b, struct str text);

/* Puts `text`, trimmed, without marks and the spaces before them, and without "Sources:" and the
 * text after it if that is a list of sources: marks are valid only in their answer, and people
 * copy both when they quote one. Linear in its bytes. */
void marks_put_without(struct buf *b, struct str text);

#endif
