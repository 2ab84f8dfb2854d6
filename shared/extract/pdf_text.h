/* SPDX-License-Identifier: MIT
 *
 * pdf_text: the text of a PDF from its words and their places (pdf_words.h): paragraphs with their
 * lines and hyphenated words joined, rows of tables as `a | b`, bullets before their items, no
 * running heads or page numbers, a form feed between pages. Pure, any thread; any bytes are safe.
 */
#ifndef PARLEY_EXTRACT_PDF_TEXT_H
#define PARLEY_EXTRACT_PDF_TEXT_H

#include "shared/base/buf.h"

/* Puts the text of what `pdftotext -tsv` printed. */
void pdf_put_text(struct buf *text, struct str tsv);

#endif
