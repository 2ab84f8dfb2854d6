/* SPDX-License-Identifier: MIT
 *
 * merged_pages: a list of which each shard gives a page, merged by time. Each shard's order is
 * kept; of their next items the one with the earliest time comes first. One array a reply,
 * borrowing from the replies.
 */
#ifndef PARLEY_SERVICES_BROKER_MERGED_PAGES_H
#define PARLEY_SERVICES_BROKER_MERGED_PAGES_H

#include "shared/queue/lines.h"

struct merged_page {
    struct lines rest; /* what has not been read */
    /* The next item: where the list goes on after it ("": the page has no more), its time, and the
     * topic, by which items of one time are ordered. */
    struct str place, topic;
    uint64_t ms;
    bool has_next; /* another page follows this one */
};

/* The page whose next item comes first; NULL when there is none, or when a page has ended that
 * another one follows: what that one holds may come before the rest. */
struct merged_page *merged_pages_first(struct merged_page *pages, unsigned n);

#endif
