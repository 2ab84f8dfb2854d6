/* SPDX-License-Identifier: MIT
 *
 * numbers: the numbers of lists as they are printed: 1, a, iv, 三; and those of pages, which are
 * left out. Pure; any thread.
 */
#ifndef PARLEY_EXTRACT_NUMBERS_H
#define PARLEY_EXTRACT_NUMBERS_H

#include "shared/base/buf.h"

enum number_form {
    NUMBER_DECIMAL,
    NUMBER_NONE,
    NUMBER_BULLET,
    NUMBER_ZERO, /* 01 */
    NUMBER_ORDINAL,
    NUMBER_LOWER_LETTER, /* z, aa, bb, as in Office */
    NUMBER_UPPER_LETTER,
    NUMBER_LOWER_ALPHA, /* z, aa, ab, as in HTML and OpenDocument */
    NUMBER_UPPER_ALPHA,
    NUMBER_LOWER_ROMAN,
    NUMBER_UPPER_ROMAN,
    NUMBER_CHINESE,
    NUMBER_CIRCLED,
};

/* Puts a number; nothing for NONE and BULLET. What a form cannot write is decimal. */
void numbers_put(struct buf *b, enum number_form form, unsigned n);
/* Returns whether a paragraph says nothing once the number of its page is left out: "Page of". */
bool numbers_is_page_label(struct str text);

#endif
