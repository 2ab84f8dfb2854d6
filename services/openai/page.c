/* SPDX-License-Identifier: MIT
 * page.c - see page.h. */
#include "services/openai/page.h"

#include "shared/http/request/explain.h"

bool page_read_limit(struct request *r, struct page *page)
{
    return request_param_u64(r, "limit", 1, PAGE_LIMIT_MAX, PAGE_LIMIT, &page->limit);
}

bool page_read_after(struct request *r, struct str prefix, struct page *page)
{
    struct str after = request_param(r, "after");
    page->has_after = after.at != NULL;
    if (!page->has_after)
        return true;
    if (str_has_prefix(after, prefix) && after.n > prefix.n + 1 && after.at[prefix.n] == '-' &&
        str_parse_u64((struct str){after.at + prefix.n + 1, after.n - prefix.n - 1}, &page->after))
        return true;
    return explain_param(r, "after", "the id of an entry of this list");
}

static uint64_t count(struct str list)
{
    struct json_span item;
    uint64_t n = 0;
    while (json_next_item(&list, &item))
        n++;
    return n;
}

void page_take(struct page *page, struct str list)
{
    struct json_span item;
    uint64_t all = count(list), from = 0, to = all;
    if (page->is_back && page->has_after)
        to = page->after < all ? page->after : all;
    else if (page->has_after)
        from = page->after < all ? page->after + 1 : all;
    page->has_more = to - from > page->limit;
    if (page->has_more && page->is_back)
        from = to - page->limit;
    else if (page->has_more)
        to = from + page->limit;
    page->n = to - from;
    for (uint64_t i = 0; i < to && json_next_item(&list, &item); i++) {
        if (i < from)
            continue;
        uint64_t at = page->is_back ? to - 1 - i : i - from;
        page->entries[at] = item;
        page->numbers[at] = i;
    }
}
