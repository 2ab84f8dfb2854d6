/* SPDX-License-Identifier: MIT
 *
 * passage: reads the position and text of a passage from a reply of lua/documents/chunk.lua:
 * offsets and the compressed blocks of text around it. Pure functions, any thread; any bytes are
 * safe.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_LIBRARY_PASSAGE_H
#define PARLEY_SERVICES_DOCUMENTS_LIBRARY_PASSAGE_H

#include "shared/queue/lines.h"

struct passage {
    uint64_t generation, start_chars, end_chars, page; /* page 0: it has none */
    struct str text; /* borrowed from `blocks` of passage_read; UTF-8 */
};

/* `rest`: the lines from the generation on, NUL, the blocks as parts. They are unpacked into
 * `blocks`, which is cleared first. False when it is nothing of the kind, or damaged. */
bool passage_read(struct str rest, struct buf *blocks, struct passage *ret_passage) must_check;

#endif
