/* SPDX-License-Identifier: MIT
 * text_pages.c - see text_pages.h. */
#include "shared/text/text_pages.h"

#include "shared/base/mem.h"

#include <endian.h>

void text_pages_fini(struct text_pages *pages)
{
    free(pages->starts);
    *pages = (struct text_pages){0};
}

void text_pages_add(struct text_pages *pages, size_t start_bytes)
{
    if (pages->n == TEXT_PAGES_MAX)
        return;
    pages->starts = mem_grow(pages->starts, pages->n, sizeof *pages->starts);
    pages->starts[pages->n++] = (uint32_t)start_bytes;
}

uint32_t text_pages_find(const struct text_pages *pages, size_t at_bytes)
{
    uint32_t low = 0, high = pages->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (pages->starts[middle] <= at_bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low == TEXT_PAGES_MAX ? 0 : low;
}

void text_pages_put(struct buf *out, const struct text_pages *pages)
{
    for (uint32_t i = 0; i < pages->n; i++) {
        uint32_t start = htole32(pages->starts[i]);
        buf_put(out, (struct str){(const char *)&start, sizeof start});
    }
}

bool text_pages_read(struct str bytes, struct text_pages *ret_pages)
{
    struct text_pages pages = {0};
    bool is_good = bytes.n % sizeof *pages.starts == 0 && bytes.n <= TEXT_PAGES_MAX_BYTES;
    for (size_t at = 0; is_good && at < bytes.n; at += sizeof *pages.starts) {
        uint32_t start;
        memcpy(&start, bytes.at + at, sizeof start);
        start = le32toh(start);
        is_good = pages.n == 0 ? start == 0 : start >= pages.starts[pages.n - 1];
        text_pages_add(&pages, start);
    }
    if (!is_good)
        text_pages_fini(&pages);
    else
        *ret_pages = pages;
    return is_good;
}
