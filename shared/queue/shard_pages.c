/* SPDX-License-Identifier: MIT
 * shard_pages.c - see shard_pages.h. */
#include "shared/queue/shard_pages.h"

/* Whether the cursor `a` stands for a newer entry than `b`. */
static bool is_newer(struct str a, struct str b)
{
    uint64_t a_ms = 0, b_ms = 0;
    struct str a_rest = a, b_rest = b;
    if (!str_parse_u64(str_cut(&a_rest, '.'), &a_ms) ||
        !str_parse_u64(str_cut(&b_rest, '.'), &b_ms))
        return false;
    return a_ms != b_ms ? a_ms > b_ms : str_compare(a_rest, b_rest) > 0;
}

struct shard_page shard_page_of(struct str reply)
{
    struct shard_page page = {.lines = lines_of(reply)};
    (void)lines_next(&page.lines); /* "ok" */
    page.next = lines_next(&page.lines);
    page.cursor = lines_next(&page.lines);
    return page;
}

struct shard_page *shard_pages_newest(struct shard_page *pages, unsigned n, struct str *ret_end)
{
    struct shard_page *best = NULL;
    struct str end = {NULL, 0};
    for (unsigned i = 0; i < n; i++) {
        if (pages[i].next.n > 0 && (end.n == 0 || is_newer(pages[i].next, end)))
            end = pages[i].next;
        if (pages[i].cursor.n > 0 && (best == NULL || is_newer(pages[i].cursor, best->cursor)))
            best = &pages[i];
    }
    *ret_end = end;
    return best != NULL && end.n > 0 && is_newer(end, best->cursor) ? NULL : best;
}
