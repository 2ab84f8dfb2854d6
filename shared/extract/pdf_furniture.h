/* SPDX-License-Identifier: MIT
 *
 * pdf_furniture: takes out what every page of a PDF repeats: running heads and feet, which stay
 * where they come first, and page numbers. Pure, any thread.
 */
#ifndef PARLEY_EXTRACT_PDF_FURNITURE_H
#define PARLEY_EXTRACT_PDF_FURNITURE_H

#include "shared/extract/pdf_words.h"

/* Sets `is_gone` of these lines. */
void pdf_remove_furniture(struct pdf_words *words);

#endif
