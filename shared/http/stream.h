/* SPDX-License-Identifier: MIT
 *
 * stream: server-sent events as the answer to a request (contract, section 7): headers that keep
 * proxies from holding events back, a comment at once and then every 15 s in which nothing was
 * sent.
 *
 * A stream lives in its owner, in the request's memory; the owner's on_gone calls stream_fini. All
 * on the loop's thread. What is put is sent by stream_flush; while a write is under way it waits,
 * up to `max_bytes`, so a slow reader costs that much and never more: past it the stream is cut
 * off, and its reader comes back with its last event id. A writer that can wait puts more only when
 * stream_is_idle, and hears of that by on_idle.
 */
#ifndef PARLEY_HTTP_STREAM_H
#define PARLEY_HTTP_STREAM_H

#include "shared/http/respond.h"

/* STREAM_DATA_FIRST: in each event the data line stands before the event line, and each event is a
 * write of its own. Some readers look at what one read gave them line by line and lose an event
 * that comes in parts. */
enum stream_form { STREAM_EVENT_FIRST, STREAM_DATA_FIRST };

struct stream {
    h2o_generator_t generator;
    struct request *r;
    enum stream_form form;
    /* All that was put is written. Not called from inside stream_flush; NULL for nothing. */
    void (*on_idle)(struct stream *stream);
    struct deadline comment, right; /* right: the end of its owner's */
    struct buf out, sending;        /* to be sent; being sent */
    bool is_started, is_sending, is_cut, is_ending, is_ended;
};

/* Does the request accept an event stream (the header Accept)? */
bool stream_is_wanted(struct request *r);

void stream_init(struct stream *stream, struct request *r, enum stream_form form, size_t max_bytes);
/* Frees what it holds. Accepts a stream that was never started, or zeroed. */
void stream_fini(struct stream *stream);

/* Answers the request with 200 and the first comment. */
void stream_start(struct stream *stream);
/* Puts an event, copied. `id` with n == 0: without one. `data` holds no newline (JSON does not).
 * Nothing is put once the stream is ending or cut. */
void stream_put(struct stream *stream, const char *event, struct str id, struct str data);
/* The same with JSON that was built in a buffer. One that overflowed is an event `error` instead.
 */
void stream_put_buf(struct stream *stream, const char *event, struct str id,
                    const struct buf *data);
/* Puts the data of an `error` event into `b`: what respond_error_more answers, as far as it fits an
 * event. */
void stream_put_error(struct buf *b, struct request *r, enum err error, const char *detail,
                      const char *members, unsigned retry_after_s);
/* Sends what was put, as soon as the write before is done. */
void stream_flush(struct stream *stream);
/* Says why the request's right has ended (rights.h) and ends. */
void stream_revoke(struct stream *stream);
/* Sends what was put, then ends the answer. */
void stream_end(struct stream *stream);

static inline bool stream_is_idle(const struct stream *stream)
{
    return stream->is_started && !stream->is_sending && !stream->is_ending && !stream->is_cut &&
           stream->out.n == 0;
}
static inline bool stream_is_over(const struct stream *stream)
{
    return stream->is_ending || stream->is_cut;
}

#endif
