/* SPDX-License-Identifier: MIT
 *
 * pages: builds one answer from several pages of a verb. A listing verb returns one page of bounded
 * size and a cursor for the next (lua/turn/bounds.lua); the node requests them one after the other,
 * and other turns run in between. A list that fits into the first page costs one round trip.
 *
 * The answer is bounded too: it ends at `limit` items (a parameter), or with the page that reaches
 * PAGES_MAX_BYTES, and then has `Link: <…&after=…>; rel="next"`, so no truncation is silent. In the
 * request's memory; on the loop's thread; fetching ends when the client leaves.
 */
#ifndef PARLEY_HTTP_PAGES_H
#define PARLEY_HTTP_PAGES_H

#include "shared/http/request/request.h"

/* The form of `after`, for explain_param. */
#define PAGES_CURSOR "the cursor from the Link header of an earlier response"

enum { PAGES_MAX_BYTES = 16 << 20, PAGES_LIMIT_MAX = 100000, PAGES_AFTER_MAX_BYTES = 512 };

struct pages {
    struct str after; /* start of the current page */
    uint64_t left;    /* items that may still come; UINT64_MAX without a limit */
    bool is_going_on; /* `own` holds what earlier pages returned */
    struct buf own;
    size_t own_bytes; /* counted for it */
};

/* Reads the parameters `limit` and `after` (absent: `first`). Answers 400 and returns false if
 * `limit` is not a number from 1 to PAGES_LIMIT_MAX or `is_cursor` rejects `after`. Call pages_fini
 * when the request is gone. */
bool pages_init(struct pages *pages, struct request *r, struct str first,
                bool (*is_cursor)(struct str)) must_check;
void pages_fini(struct pages *pages);

/* Maximum items of the page, for the verb: NO_NUMBER without a limit. */
uint64_t pages_limit(const struct pages *pages);
/* The buffer of the answer: empty at the first page, then with its content so far. */
struct buf *pages_buf(struct pages *pages, struct request *r);
/* A page returned `n` items. `next`: start of the next page, "" if there is none. Returns false if
 * the answer is complete or ends with a Link. True: nothing is left to do, since `ask` was called
 * to request that page (`after` names it), or the request was answered with 503, because the node
 * holds too much of such answers. */
bool pages_go_on(struct pages *pages, struct request *r, struct str next, uint64_t n,
                 void (*ask)(struct request *r)) must_check;
/* Counts `more` bytes that the answer takes while it is put together, besides what `pages` holds
 * (connection_gather). False: they do not fit, and the request is answered with 503. */
bool pages_hold(struct pages *pages, struct request *r, size_t more) must_check;
/* Sends the answer, 200, which is in `b` (pages_buf), and frees the memory it was put together in.
 */
void pages_respond(struct pages *pages, struct request *r, struct buf *b);

/* Adds a Link header that continues the list at `next`. */
void pages_link(struct request *r, struct str next);

#endif
