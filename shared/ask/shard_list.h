/* SPDX-License-Identifier: MIT
 *
 * shard_list: answers a request for a list with the pages that a listing verb returned on each
 * shard, newest first (lua/turn/newest.lua). Cursors, "<ms>.<id>", have the same order on all
 * shards. What is older than the end of a page that continues is left for the next request, to
 * which the Link header points. A long list is put together in steps (shared/op/passes.h). On the
 * loop's thread.
 */
#ifndef PARLEY_ASK_SHARD_LIST_H
#define PARLEY_ASK_SHARD_LIST_H

#include "shared/http/request/gather.h"
#include "shared/queue/lines.h"

/* A shard's page, a reply of the verb: `ok`, the cursor of the next page, then entries that begin
 * with their cursors. */
struct shard_page {
    struct lines lines; /* what is left, after the cursor of its next entry */
    struct str cursor;  /* of that entry; n == 0: none is left */
    struct str next;    /* where the page continues; n == 0: it does not */
};

struct shard_list {
    const char *name; /* of the member that holds the list */
    uint64_t limit;   /* entries */
    size_t max_bytes;
    /* Puts the next entry of the page as a JSON value and reads its lines, no more. False: they are
     * broken, and the request gets 500. */
    bool (*put)(struct buf *b, struct request *r, struct lines *lines);
};

/* For a gather_cb: answers with {"<name>":[...]}, or with the error, now or later. `list` is
 * copied.
 */
void shard_list_respond(struct request *r, enum err error, const struct gather *all,
                        const struct shard_list *list);

/* The cursor that the request names in `after` ("": from the newest on). `is_id` judges what comes
 * after the time. Answers 400 and returns false if it is none. */
bool shard_list_cursor(struct request *r, bool (*is_id)(struct str id),
                       struct str *ret_after) must_check;

#endif
