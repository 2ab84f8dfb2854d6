/* SPDX-License-Identifier: MIT
 *
 * download: a file as the answer to a request, made while it is sent, so that its length is not
 * known and no more of it is held than what the client has not taken yet. Its owner puts bytes into
 * `out` and flushes them; while a write is under way they wait, and `on_idle` says when all of them
 * are written. One that cannot go on is cut: the connection ends without the end of the answer, so
 * the client knows that it does not have all of it. So it is when the account loses its right.
 *
 * Lives in its owner, in the request's memory; the owner's on_gone calls download_fini. A client
 * that does not read is let go of by its connection. All on the loop's thread.
 */
#ifndef PARLEY_HTTP_DOWNLOAD_H
#define PARLEY_HTTP_DOWNLOAD_H

#include "shared/http/request.h"

struct download {
    h2o_generator_t generator;
    struct request *r;
    void (*on_idle)(struct download *download); /* not called from inside download_flush */
    struct deadline right;                      /* the end of its account's */
    struct left_listener left;
    struct buf out, sending;
    bool is_started, is_sending, is_cut, is_ending, is_ended;
};

/* `max_bytes`: of `out`; past it the download is cut. */
void download_init(struct download *download, struct request *r, size_t max_bytes,
                   void (*on_idle)(struct download *download));
/* Frees what it holds. Accepts one that was never started, or zeroed. */
void download_fini(struct download *download);
/* Answers with 200 and that file name (ASCII, without quotes). */
void download_start(struct download *download, const char *content_type, const char *filename);
/* Sends what is in `out`, as soon as the write before is done. */
void download_flush(struct download *download);
/* Sends what is in `out`, then ends the answer. */
void download_end(struct download *download);
/* Ends the connection without the end of the answer. */
void download_cut(struct download *download);

static inline bool download_is_idle(const struct download *download)
{
    return download->is_started && !download->is_sending && !download->is_ending &&
           !download->is_cut;
}

#endif
