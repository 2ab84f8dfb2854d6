/* SPDX-License-Identifier: MIT
 *
 * stream: server-sent events as the answer to a request (text/event-stream in /openapi.yaml),
 * with headers that stop proxies from buffering, a comment at once, and a comment after every 15 s
 * without data.
 *
 * A stream lives in its owner, in the request's memory; the owner's on_gone calls stream_fini. All
 * on the loop's thread. stream_flush sends what was put. During a write, up to `max_bytes` wait,
 * which bounds the cost of a slow reader: past that the stream is cut off and the reader resumes
 * with its last event id. A writer that can wait puts more only when stream_is_idle, and on_idle
 * notifies it.
 */
#ifndef PARLEY_HTTP_STREAM_H
#define PARLEY_HTTP_STREAM_H

#include "shared/http/request/respond.h"

/* STREAM_DATA_FIRST: in each event the data line precedes the event line, and each event is a
 * separate write. Some readers parse each read line by line and lose an event that arrives in
 * parts. */
enum stream_form { STREAM_EVENT_FIRST, STREAM_DATA_FIRST };

struct stream {
    h2o_generator_t generator;
    struct request *r;
    enum stream_form form;
    bool resumes;
    const char *content_type;
    /* Sent at once, and after each `comment_ms` without data: comments, if it has events.
     * stream_init sets these; an owner may change them before it starts. */
    struct str first, comment_text;
    uint64_t comment_ms;
    /* Everything that was put is written. Not called from inside stream_flush; may be NULL. */
    void (*on_idle)(struct stream *stream);
    struct deadline comment, right; /* right: the end of the account's right */
    struct buf out, sending;        /* to be sent; being sent */
    bool is_started, is_sending, is_cut, is_ending, is_ended;
};

/* Returns whether its Accept header asks for an event stream: rather than JSON, or as well and by
 * name. False for a HEAD. */
bool stream_is_wanted(struct request *r);

/* `resumes`: its reader continues where it was, so it is also cut off when clients have left too
 * much unread (connection.h). */
void stream_init(struct stream *stream, struct request *r, enum stream_form form, bool resumes,
                 size_t max_bytes);
/* Frees its memory. Accepts a stream that was never started or is zeroed. */
void stream_fini(struct stream *stream);

/* Answers the request with 200 and the first comment. */
void stream_start(struct stream *stream);
/* Puts an event, copied. `event` NULL: without a name. `id` with n == 0: no id. `data` contains no
 * newline (JSON does not). Does nothing once the stream is ending or cut. */
void stream_put(struct stream *stream, const char *event, struct str id, struct str data);
/* The same for JSON in a buffer. If the buffer overflowed, an `error` event is put instead.
 */
void stream_put_buf(struct stream *stream, const char *event, struct str id,
                    const struct buf *data);
/* Puts the data of an `error` event into `b`: the body of respond_error_more, as far as it applies
 * to an event. */
void stream_put_error(struct buf *b, struct request *r, enum err error, const char *detail,
                      const char *members, unsigned retry_after_s);
/* Puts text as it is, for streams that have no events. Does nothing once it is ending or cut. */
void stream_put_text(struct stream *stream, struct str text);
/* Cuts the answer off, so that its reader sees that it is not whole. */
void stream_cut(struct stream *stream);
/* Sends what was put as soon as the previous write is done. */
void stream_flush(struct stream *stream);
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
