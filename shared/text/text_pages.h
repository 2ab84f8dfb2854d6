/* SPDX-License-Identifier: MIT
 *
 * text_pages: where the pages of a document, or its slides, begin in its text. Pure functions, any
 * thread; the array belongs to its holder.
 */
#ifndef PARLEY_TEXT_TEXT_PAGES_H
#define PARLEY_TEXT_TEXT_PAGES_H

#include "shared/base/buf.h"

/* Later pages are not counted: nothing says on which page their text is. */
enum { TEXT_PAGES_MAX = 100000, TEXT_PAGES_MAX_BYTES = TEXT_PAGES_MAX * 4 };

/* Zeroed: a document without pages. */
struct text_pages {
    uint32_t *starts; /* offsets in bytes; they never fall, since pages may be empty */
    uint32_t n;
};

void text_pages_fini(struct text_pages *pages);
/* The next page begins at this offset, under 4 GiB. */
void text_pages_add(struct text_pages *pages, size_t start_bytes);
/* Returns the page of the byte at this offset: 1 for the first one, 0 when it is not known. */
uint32_t text_pages_find(const struct text_pages *pages, size_t at_bytes);

/* Puts them as they are stored: a little-endian u32 for each, nothing when there are none. */
void text_pages_put(struct buf *out, const struct text_pages *pages);
/* Reads any bytes. Returns false, without pages, if text_pages_put did not write them. */
bool text_pages_read(struct str bytes, struct text_pages *ret_pages) must_check;

#endif
