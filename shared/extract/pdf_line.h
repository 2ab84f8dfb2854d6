/* SPDX-License-Identifier: MIT
 *
 * pdf_line: the text of one line of a PDF: its words with spaces where there is room between them,
 * `10^6` and `x_1` for what is raised and lowered, a space for a row of dots, words of Hebrew and
 * Arabic in the order in which they are read. Pure, any thread.
 */
#ifndef PARLEY_EXTRACT_PDF_LINE_H
#define PARLEY_EXTRACT_PDF_LINE_H

#include "shared/base/buf.h"
#include "shared/extract/pdf_words.h"

/* Returns whether the line has a row of dots, as in a table of contents. */
bool pdf_has_leader(const struct pdf_words *words, const struct pdf_line *line);
/* Puts a space, unless the text ends with one. */
void pdf_put_space(struct buf *text);
/* Puts the words of a line from number `from` on. */
void pdf_put_line(struct buf *text, const struct pdf_words *words, const struct pdf_line *line,
                  uint32_t from);

#endif
