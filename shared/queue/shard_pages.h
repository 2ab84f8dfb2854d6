/* SPDX-License-Identifier: MIT
 *
 * shard_pages: merges the pages that a listing verb returned on each shard, newest first
 * (lua/workflow/newest.lua). Cursors, "<ms>.<id>", have the same order on all shards. What is
 * older than the end of a page that goes on is left for the next request. Pure functions.
 */
#ifndef PARLEY_QUEUE_SHARD_PAGES_H
#define PARLEY_QUEUE_SHARD_PAGES_H

#include "shared/queue/lines.h"

/* A shard's page: its entries, the cursor of the first of them that is left, and the one at which
 * the page goes on (n == 0: it does not). */
struct shard_page {
    struct lines lines;
    struct str cursor, next;
};

/* A reply of the verb: `ok`, the cursor of the next page, then entries that begin with theirs. */
struct shard_page shard_page_of(struct str reply);
/* The page whose next entry is the newest one; NULL: none may be taken any more. *ret_end: where
 * the list goes on then; n == 0: nowhere. */
struct shard_page *shard_pages_newest(struct shard_page *pages, unsigned n, struct str *ret_end);

#endif
