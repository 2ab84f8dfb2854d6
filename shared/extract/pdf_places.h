/* SPDX-License-Identifier: MIT
 *
 * pdf_places: remembers which words lie where on a page, so that a word on top of its own copy is
 * read once: the unseen text that an OCR program laid over a page that had text, a shadow, a word
 * printed twice to look bold. One document; one thread.
 */
#ifndef PARLEY_EXTRACT_PDF_PLACES_H
#define PARLEY_EXTRACT_PDF_PLACES_H

#include "shared/base/str.h"
#include "shared/extract/pdf_box.h"

struct pdf_places {
    struct pdf_place *at;
};

void pdf_places_init(struct pdf_places *places);
void pdf_places_fini(struct pdf_places *places);

/* Returns whether the word is the first of its text at its place on that page, and remembers it. */
bool pdf_places_take(struct pdf_places *places, uint32_t page, struct str text,
                     const struct pdf_box *box);

#endif
