/* SPDX-License-Identifier: MIT
 * fuzz_documents_passage.c - a passage out of any bytes: what is read is text within the blocks. */
#include "services/documents/library/passage.h"

#include <stdlib.h>

enum { BLOCKS_MAX_BYTES = 8 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf blocks;
    struct passage passage;
    buf_init(&blocks, BLOCKS_MAX_BYTES);
    if (passage_read((struct str){(const char *)data, size}, &blocks, &passage)) {
        bool is_within = passage.text.at >= blocks.at && passage.text.n <= blocks.n &&
                         (size_t)(passage.text.at - blocks.at) <= blocks.n - passage.text.n;
        if (!is_within || !str_is_utf8(passage.text))
            abort();
    }
    buf_fini(&blocks);
    return 0;
}
