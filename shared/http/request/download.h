/* SPDX-License-Identifier: MIT
 *
 * download: a file that is generated while it is sent, so its length is unknown and only the part
 * that the client has not read yet is in memory. The owner puts bytes into `out` and flushes them;
 * they wait while a write is in progress, and `on_idle` reports when all of them are written. A
 * download that cannot continue, or whose account loses its right, is cut: the connection closes
 * without the end of the response, so the client knows that the file is incomplete.
 *
 * Lives in its owner, in the request's memory; the owner's on_gone calls download_fini. A client
 * that does not read is disconnected by its connection's timeout. All on the loop's thread.
 */
#ifndef PARLEY_HTTP_DOWNLOAD_H
#define PARLEY_HTTP_DOWNLOAD_H

#include "shared/http/request/request.h"

struct download {
    h2o_generator_t generator;
    struct request *r;
    void (*on_idle)(struct download *download); /* not called from inside download_flush */
    struct deadline right;                      /* the end of its account's */
    struct left_listener left;
    struct buf out, sending;
    bool is_started, is_sending, is_cut, is_ending, is_ended;
};

/* `max_bytes`: limit of `out`; past it the download is cut. */
void download_init(struct download *download, struct request *r, size_t max_bytes,
                   void (*on_idle)(struct download *download));
/* Frees its memory. Accepts one that was never started or is zeroed. */
void download_fini(struct download *download);
/* Answers with 200 and that file name (ASCII, without quotes). */
void download_start(struct download *download, const char *content_type, const char *filename);
/* Returns whether `bytes` may be held for its client, until it has read them. Answers 503 before
 * its start, and cuts it later, if others have left too much unread. */
bool download_has_room(struct download *download, size_t bytes) must_check;
/* Answers HEAD as the download would begin. */
void download_answer_head(struct request *r, const char *content_type, const char *filename);
/* Sends `out` as soon as the previous write is done. */
void download_flush(struct download *download);
/* Sends `out`, then ends the response. */
void download_end(struct download *download);
/* Closes the connection without the end of the response. */
void download_cut(struct download *download);

static inline bool download_is_idle(const struct download *download)
{
    return download->is_started && !download->is_sending && !download->is_ending &&
           !download->is_cut;
}

#endif
