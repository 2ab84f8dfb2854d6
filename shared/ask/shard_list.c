/* SPDX-License-Identifier: MIT
 * shard_list.c - see shard_list.h. */
#include "shared/ask/shard_list.h"

#include "shared/http/request/explain.h"
#include "shared/http/request/pages.h"
#include "shared/http/request/respond.h"

enum { STEP_BYTES = 64 << 10 }; /* of the pages */

/* Returns whether the cursor `a` stands for a newer entry than `b`. */
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
 * the list continues then; n == 0: nowhere. */
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

/* In the request's pool. The answer is in `r->gather->answer`. */
struct listing {
    struct shard_list list;
    struct shard_page *pages;
    unsigned page_n;
    uint64_t n;      /* entries that have been put */
    struct str last; /* the cursor of the last one */
};

/* Puts entries of about STEP_BYTES. Returns whether some are left. */
static bool put_entries(struct request *r, struct listing *listing)
{
    struct buf *b = &r->gather->answer;
    struct shard_page *page;
    struct str end;
    for (size_t read = 0; listing->n < listing->list.limit && !b->is_over;) {
        if (read >= STEP_BYTES)
            return true;
        if ((page = newest_of(listing->pages, listing->page_n, &end)) == NULL)
            break;
        size_t had = page->lines.rest.n;
        if (listing->n++ > 0)
            buf_put_char(b, ',');
        listing->last = page->cursor;
        if (!listing->list.put(b, r, &page->lines))
            b->is_over = true;
        page->cursor = lines_next(&page->lines);
        read += had - page->lines.rest.n;
    }
    return false;
}

static void respond(struct request *r, const struct listing *listing)
{
    struct buf b = r->gather->answer;
    struct str end;
    bool has_more = newest_of(listing->pages, listing->page_n, &end) != NULL;
    struct str next = has_more ? listing->last : end;
    r->gather->answer = (struct buf){0};
    buf_lit(&b, "]}");
    if (next.n > 0 && !b.is_over)
        pages_link(r, next);
    respond_json(r, 200, &b);
    buf_fini(&b);
}

static bool put_some(struct steps *steps)
{
    struct request *r = container_of(steps, struct request, handling);
    struct listing *listing = r->gather->context;
    bool is_more = put_entries(r, listing);
    if (!is_more)
        respond(r, listing);
    return is_more;
}

void shard_list_respond(struct request *r, enum err error, const struct gather *all,
                        const struct shard_list *list)
{
    struct listing *listing = request_alloc(r, sizeof *listing);
    struct buf *b = &r->gather->answer;
    size_t bytes = 0;
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
        return;
    }
    for (unsigned i = 0; i < all->n; i++)
        bytes += all->replies[i].n;
    if (bytes > STEP_BYTES && !gather_keep(r))
        return;
    *listing = (struct listing){.list = *list, .page_n = all->n};
    listing->pages = request_alloc(r, all->n * sizeof *listing->pages);
    for (unsigned i = 0; i < all->n; i++)
        listing->pages[i] = page_of(all->replies[i]);
    r->gather->context = listing;
    buf_init(b, list->max_bytes);
    buf_printf(b, "{\"%s\":[", list->name);
    r->handling.step = put_some;
    if (bytes > STEP_BYTES)
        loop_begin_steps(r->server->loop, &r->handling);
    else
        put_some(&r->handling);
}

bool shard_list_cursor(struct request *r, bool (*is_id)(struct str id), struct str *ret_after)
{
    struct str after = request_param(r, "after"), rest = after;
    uint64_t ms;
    if (after.n > 0 &&
        (!str_parse_u64(str_cut(&rest, '.'), &ms) || rest.at == NULL || !is_id(rest)))
        return explain_param(r, "after", PAGES_CURSOR);
    *ret_after = after.at == NULL ? STR("") : after;
    return true;
}
