/* SPDX-License-Identifier: MIT
 *
 * pages: one answer out of several pages of a verb. A verb that lists answers a page, bounded in
 * bytes, and where the next one begins (lua/turn/bounds.lua); the node asks for one after the
 * other, and other turns run in between. What fits into the first page costs one round trip.
 *
 * The whole is bounded too: at `limit` items (a parameter), or with the page that reaches
 * PAGES_MAX_BYTES, the answer ends and says `Link: <…&after=…>; rel="next"`. Nothing is lost
 * silently. In the request's memory; on the loop's thread; a client that leaves ends the fetching.
 */
#ifndef PARLEY_HTTP_PAGES_H
#define PARLEY_HTTP_PAGES_H

#include "shared/http/request.h"

enum { PAGES_MAX_BYTES = 16 << 20, PAGES_LIMIT_MAX = 100000, PAGES_AFTER_MAX_BYTES = 512 };

struct pages {
    struct str after; /* where the page under way begins */
    uint64_t left;    /* items that may still come; UINT64_MAX without a limit */
    bool is_going_on; /* there was a page: `own` holds what it brought */
    struct buf own;
};

/* Reads the parameters `limit` and `after` (absent: `first`). Answers 400 and returns false when
 * `limit` is no number from 1 to PAGES_LIMIT_MAX, or `after` is not what `is_cursor` accepts.
 * pages_fini is to be called when the request is gone. */
bool pages_init(struct pages *pages, struct request *r, struct str first,
                bool (*is_cursor)(struct str)) must_check;
void pages_fini(struct pages *pages);

/* How many items the page may hold, for the verb: NO_NUMBER without a limit. */
uint64_t pages_limit(const struct pages *pages);
/* Where the answer is put: empty at the first page, and as it was left at the later ones. */
struct buf *pages_buf(struct pages *pages, struct request *r);
/* A page brought `n` items. `next`: where the next one begins, "" when there is none. True: ask for
 * that one (`after` names it). False: the answer is complete, or says with a Link where it goes
 * on. */
bool pages_go_on(struct pages *pages, struct request *r, struct str next, uint64_t n);

/* Says with a Link that the list goes on at `next`. */
void pages_link(struct request *r, struct str next);

#endif
