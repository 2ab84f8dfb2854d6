/* SPDX-License-Identifier: MIT
 *
 * pdf_flow: puts prose in two columns into the order in which it is read: poppler often takes turns
 * between the paragraphs of both. Pure, any thread.
 */
#ifndef PARLEY_EXTRACT_PDF_FLOW_H
#define PARLEY_EXTRACT_PDF_FLOW_H

#include "shared/extract/pdf_words.h"

/* Moves lines within their pages, and marks the blocks of such columns as prose. The lines of a
 * block stay together. */
void pdf_order_columns(struct pdf_words *words);

#endif
