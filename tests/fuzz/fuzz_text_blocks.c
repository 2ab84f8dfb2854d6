/* SPDX-License-Identifier: MIT
 * fuzz_text_blocks.c - a stored block of text: no bytes unpack to more than a block, and a text
 * comes back as it was. */
#include "shared/text/text_blocks.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {(const char *)data, size};
    struct text_blocks blocks;
    struct buf text;
    buf_init(&text, size + 2 * TEXT_BLOCK_BYTES);
    bool is_block = text_block_put(&text, bytes);
    require(text.n <= TEXT_BLOCK_BYTES && (is_block || text.n == 0));

    buf_clear(&text);
    text_blocks_init(&blocks, bytes);
    for (size_t i = 0; i < blocks.n; i++)
        require(text_block_put(&text, blocks.at[i]));
    require(str_eq(buf_str(&text), bytes));
    text_blocks_fini(&blocks);
    buf_fini(&text);
    return 0;
}
