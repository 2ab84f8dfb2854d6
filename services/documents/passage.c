/* SPDX-License-Identifier: MIT
 * passage.c - see passage.h. Text is kept in compressed blocks, so a passage takes one or two of
 * them however long the document is. */
#include "services/documents/passage.h"

#include "shared/queue/lines.h"
#include "shared/rag/text_blocks.h"

bool passage_read(struct str reply, bool has_url, struct buf *memory, struct passage *ret_passage)
{
    const char *nul = reply.n == 0 ? NULL : memchr(reply.at, 0, reply.n);
    if (nul == NULL)
        return false;
    struct lines head = lines_of((struct str){reply.at, (size_t)(nul - reply.at)});
    struct lines blocks = lines_of((struct str){nul + 1, reply.n - (size_t)(nul - reply.at) - 1});
    struct passage passage = {.filename = lines_next(&head)};
    if (has_url)
        passage.url = lines_next(&head);
    (void)lines_next(&head); /* the generation */
    uint64_t start = lines_next_u64(&head), end = lines_next_u64(&head);
    passage.start_chars = lines_next_u64(&head);
    passage.end_chars = lines_next_u64(&head);
    uint64_t skipped = lines_next_u64(&head) * TEXT_BLOCK_BYTES;
    struct str block;
    size_t before = memory->n;
    while (blocks.rest.n > 0) {
        if (memory->n - before >= PASSAGE_MAX_BYTES || !lines_next_part(&blocks, &block) ||
            !text_block_put(memory, block))
            return false;
    }
    if (start < skipped || end < start || end - skipped > memory->n - before)
        return false;
    passage.text = (struct str){memory->at + before + (start - skipped), end - start};
    *ret_passage = passage;
    return true;
}
