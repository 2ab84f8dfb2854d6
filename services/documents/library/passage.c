/* SPDX-License-Identifier: MIT
 * passage.c - see passage.h. */
#include "services/documents/library/passage.h"

#include "shared/text/text_blocks.h"

bool passage_read(struct str rest, struct buf *blocks, struct passage *ret_passage)
{
    struct lines lines = lines_of(str_cut(&rest, 0)), parts = lines_of(rest);
    struct passage passage = {.generation = lines_next_u64(&lines)};
    struct str block;
    uint64_t from = lines_next_u64(&lines), to = lines_next_u64(&lines);
    passage.start_chars = lines_next_u64(&lines);
    passage.end_chars = lines_next_u64(&lines);
    passage.page = lines_next_u64(&lines);
    uint64_t base = lines_next_u64(&lines) * TEXT_BLOCK_BYTES;
    buf_clear(blocks);
    while (lines_next_part(&parts, &block))
        if (!text_block_put(blocks, block))
            return false;
    if (blocks->is_over || from < base || to <= from || to - base > blocks->n)
        return false;
    passage.text = (struct str){blocks->at + (from - base), to - from};
    if (!str_is_utf8(passage.text))
        return false;
    *ret_passage = passage;
    return true;
}
