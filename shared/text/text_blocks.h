/* SPDX-License-Identifier: MIT
 *
 * text_blocks: the storage format of a document's text: blocks of 8 KiB, compressed separately (raw
 * deflate), so that a passage can be read without decompressing the whole text. Pure functions, any
 * thread.
 */
#ifndef PARLEY_TEXT_TEXT_BLOCKS_H
#define PARLEY_TEXT_TEXT_BLOCKS_H

#include "shared/base/buf.h"

enum { TEXT_BLOCK_BYTES = 8 << 10 };

/* The blocks of one text, in order; all but the last hold TEXT_BLOCK_BYTES of it. */
struct text_blocks {
    struct str *at;
    size_t n;
};

/* Compresses a copy of `text`; text_blocks_fini frees it. */
void text_blocks_init(struct text_blocks *blocks, struct str text);
void text_blocks_fini(struct text_blocks *blocks);

/* Puts the text of one block. Returns false if the block is damaged or contains more than
 * TEXT_BLOCK_BYTES: safe for any input. */
bool text_block_put(struct buf *text, struct str block) must_check;

#endif
