/* SPDX-License-Identifier: MIT
 *
 * chunk: cuts a text into passages of about 1,000 characters that overlap by about 150. A cut falls
 * at the end of a paragraph, else of a sentence, else between words, else (in a text without any)
 * between characters. The same text always gives the same chunks, and offsets point into that very
 * text. Pure, any thread.
 */
#ifndef PARLEY_TEXT_CHUNK_H
#define PARLEY_TEXT_CHUNK_H

#include "shared/base/str.h"

enum { CHUNK_CHARS = 1000, CHUNK_MAX_CHARS = 1200, CHUNK_OVERLAP_CHARS = 150 };

struct chunk {
    size_t start_bytes, end_bytes; /* [start, end) in the text, no white space at either end */
    size_t start_chars, end_chars; /* the same, counted in characters */
};

/* Where the cutting of one text stands. Zeroed except for `text`, which is borrowed. */
struct chunk_cursor {
    struct str text;
    size_t at_bytes, at_chars; /* where the next chunk may start */
};

/* Finds the next chunk; false when the rest of the text is empty or white space. Every character
 * that is not white space is in at least one chunk. */
bool chunk_next(struct chunk_cursor *cursor, struct chunk *ret_chunk);

#endif
