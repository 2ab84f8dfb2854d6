/* SPDX-License-Identifier: MIT
 *
 * passage: the text of one chunk, out of what lua/documents/chunk.lua and passages.lua answer:
 * where it stands, and the deflated blocks of text that hold it. Any thread.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_PASSAGE_H
#define PARLEY_SERVICES_DOCUMENTS_PASSAGE_H

#include "shared/rag/text_blocks.h"

enum { PASSAGE_BLOCKS_MAX = 4, PASSAGE_MAX_BYTES = PASSAGE_BLOCKS_MAX * TEXT_BLOCK_BYTES };

struct passage {
    struct str filename, url; /* JSON; url may be empty */
    uint64_t start_chars, end_chars;
    struct str text; /* in the `memory` of passage_read, until more is put there */
};

/* Reads a reply from behind its "ok" line. With `has_url` a line with the url stands behind the
 * filename's. The text is put into `memory`, at its end; all else borrows from `reply`. False when
 * the reply makes no sense, which is a bug of ours or damage in Redis. */
bool passage_read(struct str reply, bool has_url, struct buf *memory,
                  struct passage *ret_passage) must_check;

#endif
