/* SPDX-License-Identifier: MIT
 * fuzz_text_pages.c - stored pages: what is read is what is written again, and finds a page for
 * every offset. */
#include "shared/text/text_pages.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {(const char *)data, size};
    struct text_pages pages;
    struct buf written;
    if (!text_pages_read(bytes, &pages))
        return 0;
    buf_init(&written, TEXT_PAGES_MAX_BYTES);
    text_pages_put(&written, &pages);
    if (!str_eq(bytes, buf_str(&written)))
        abort();
    for (uint32_t i = 0; i < pages.n; i++)
        if (text_pages_find(&pages, pages.starts[i]) < i + 1 && pages.n < TEXT_PAGES_MAX)
            abort();
    buf_fini(&written);
    text_pages_fini(&pages);
    return 0;
}
