/* SPDX-License-Identifier: MIT
 *
 * merged_pages: merges one page from each shard into a list by time. Each shard's order is kept;
 * the item with the earliest time comes first. One array a reply, borrowing from the replies.
 */
#ifndef PARLEY_SERVICES_BROKER_MERGED_PAGES_H
#define PARLEY_SERVICES_BROKER_MERGED_PAGES_H

#include "shared/queue/lines.h"

struct merged_page {
    struct lines rest; /* what has not been read */
    /* The next item: where the list continues after it ("": the page has no more), its time, and
     * the topic, by which items of one time are ordered. */
    struct str place, topic;
    uint64_t ms;
    bool has_next; /* another page follows this one */
};

/* The page whose next item comes first; NULL if there is none, or if a page with a successor has
 * ended, whose items may precede the rest. */
struct merged_page *merged_pages_first(struct merged_page *pages, unsigned n);

#endif
