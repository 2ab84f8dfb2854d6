/* SPDX-License-Identifier: MIT
 *
 * paragraphs: finds the text of a message: its paragraphs, headings and items of lists, without
 * anything that is shown as code, quoted or hidden, which means blocks between fences of backticks
 * or tildes, lines that are indented by four columns and continue no paragraph, lines that begin
 * with `>`, and HTML comments at the start of a line; in items of lists, too, whose text begins
 * further in. The rules are those of CommonMark (0.31.2, sections 4 and 5), with two exceptions: a
 * line after a quote is text even if it would continue the quote, and so is what follows a comment
 * on its last line. Linear in the text. Pure functions, any thread.
 */
#ifndef PARLEY_BOTS_ROOMS_PARAGRAPHS_H
#define PARLEY_BOTS_ROOMS_PARAGRAPHS_H

#include "shared/base/str.h"

enum { PARAGRAPHS_NESTED_MAX = 16 };

/* A place in a text, which is borrowed. */
struct paragraphs {
    struct str text;
    size_t at;
    bool is_open; /* what comes next follows a line of a paragraph */
    /* Columns at which the text of the items of lists begins that are open here, the outermost
     * first. Lists within more than PARAGRAPHS_NESTED_MAX others are text. */
    size_t items[PARAGRAPHS_NESTED_MAX];
    size_t items_n;
    bool is_empty; /* nothing has come of the innermost one besides its mark */
};

void paragraphs_begin(struct paragraphs *paragraphs, struct str text);
/* The next one, inside the text: from its first letter to the end of its last line. False at the
 * end. */
bool paragraphs_next(struct paragraphs *paragraphs, struct str *ret_paragraph) must_check;

#endif
