/* SPDX-License-Identifier: MIT
 * shard_list.c - see shard_list.h. */
#include "shared/ask/shard_list.h"

#include "shared/http/pages.h"
#include "shared/http/respond.h"

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

static struct shard_page page_of(struct str reply)
{
    struct shard_page page = {.lines = lines_of(reply)};
    (void)lines_next(&page.lines); /* "ok" */
    page.next = lines_next(&page.lines);
    page.cursor = lines_next(&page.lines);
    return page;
}

/* The page whose next entry is the newest one; NULL: none may be taken any more. *ret_end: where
 * the list goes on then; n == 0: nowhere. */
static struct shard_page *newest_of(struct shard_page *pages, unsigned n, struct str *ret_end)
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

/* Returns where the list goes on; n == 0: nowhere. */
static struct str put_entries(struct buf *b, struct request *r, struct shard_page *pages,
                              unsigned page_n, const struct shard_list *list)
{
    struct str last = {NULL, 0}, end;
    struct shard_page *page;
    uint64_t n = 0;
    while (n < list->limit && (page = newest_of(pages, page_n, &end)) != NULL) {
        if (n++ > 0)
            buf_put_char(b, ',');
        last = page->cursor;
        if (!list->put(b, r, &page->lines))
            b->is_over = true;
        page->cursor = lines_next(&page->lines);
    }
    return newest_of(pages, page_n, &end) != NULL ? last : end;
}

void shard_list_respond(struct request *r, enum err error, const struct gather *all,
                        const struct shard_list *list)
{
    struct shard_page *pages = request_alloc(r, all->n * sizeof *pages);
    struct buf b;
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
        return;
    }
    for (unsigned i = 0; i < all->n; i++)
        pages[i] = page_of(all->replies[i]);
    buf_init(&b, list->max_bytes);
    buf_printf(&b, "{\"%s\":[", list->name);
    struct str next = put_entries(&b, r, pages, all->n, list);
    buf_lit(&b, "]}");
    if (next.n > 0 && !b.is_over)
        pages_link(r, next);
    respond_json(r, 200, &b);
    buf_fini(&b);
}

bool shard_list_cursor(struct request *r, bool (*is_id)(struct str id), struct str *ret_after)
{
    struct str after = request_param(r, "after"), rest = after;
    uint64_t ms;
    if (after.n > 0 &&
        (!str_parse_u64(str_cut(&rest, '.'), &ms) || rest.at == NULL || !is_id(rest))) {
        respond_error(r, ERR_BAD_REQUEST,
                      "after must be the cursor from the Link header of an earlier response.");
        return false;
    }
    *ret_after = after.at == NULL ? STR("") : after;
    return true;
}
