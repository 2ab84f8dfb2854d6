/* SPDX-License-Identifier: MIT
 *
 * page: a page of a JSON list, whose entries have numbers from 0. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_PAGE_H
#define PARLEY_SERVICES_OPENAI_PAGE_H

#include "shared/http/request/request.h"

enum { PAGE_LIMIT_MAX = 100, PAGE_LIMIT = 20 };

struct page {
    uint64_t limit, after; /* entries at most; the entry that it continues after */
    bool is_back, has_after;
    /* Set by page_take: its entries, and their numbers, in its order. */
    struct json_span entries[PAGE_LIMIT_MAX];
    uint64_t numbers[PAGE_LIMIT_MAX];
    uint64_t n;
    bool has_more;
};

/* Reads the parameter `limit`. Answers 400 and returns false if it is not 1 to PAGE_LIMIT_MAX. */
bool page_read_limit(struct request *r, struct page *page) must_check;
/* Reads the parameter `after`, the number at the end of an id that begins with `prefix` and a `-`.
 * Answers 400 and returns false if it is none. */
bool page_read_after(struct request *r, struct str prefix, struct page *page) must_check;
/* Takes the entries of the page. `list`: the inside of one. Borrows from it. */
void page_take(struct page *page, struct str list);

#endif
