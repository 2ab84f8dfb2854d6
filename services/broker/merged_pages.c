/* SPDX-License-Identifier: MIT
 * merged_pages.c - see merged_pages.h. */
#include "services/broker/merged_pages.h"

static bool is_before(const struct merged_page *a, const struct merged_page *b)
{
    return a->ms != b->ms ? a->ms < b->ms : str_compare(a->topic, b->topic) < 0;
}

struct merged_page *merged_pages_first(struct merged_page *pages, unsigned n)
{
    struct merged_page *first = NULL;
    for (unsigned i = 0; i < n; i++) {
        struct merged_page *page = &pages[i];
        if (page->place.n == 0 && page->has_next)
            return NULL;
        if (page->place.n > 0 && (first == NULL || is_before(page, first)))
            first = page;
    }
    return first;
}
