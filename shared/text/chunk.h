/* SPDX-License-Identifier: MIT
 *
 * chunk: splits a text into passages of about 1,000 characters that overlap by about 150. After 400
 * characters it splits before a heading marked with `#`, without overlap; otherwise at the end of a
 * paragraph if possible, then of a sentence, then between words, then between characters. The same
 * text always gives the same chunks, and offsets refer to the text as given. Pure, any thread.
 */
#ifndef PARLEY_TEXT_CHUNK_H
#define PARLEY_TEXT_CHUNK_H

#include "shared/base/str.h"

enum {
    CHUNK_CHARS = 1000,
    CHUNK_MAX_CHARS = 1200,
    CHUNK_OVERLAP_CHARS = 150,
    CHUNK_SECTION_CHARS = 400
};

struct chunk {
    size_t start_bytes, end_bytes; /* [start, end) in the text, no white space at either end */
    size_t start_chars, end_chars; /* the same, counted in characters */
    uint32_t page;                 /* where it begins (text_pages_find); chunk_next leaves 0 */
};

/* The progress of splitting one text. Zeroed except for `text`, which is borrowed. */
struct chunk_cursor {
    struct str text;
    size_t at_bytes, at_chars; /* where the next chunk may start */
};

/* Finds the next chunk; false when the rest of the text is empty or white space. Every character
 * that is not white space is in at least one chunk. */
bool chunk_next(struct chunk_cursor *cursor, struct chunk *ret_chunk);

#endif
