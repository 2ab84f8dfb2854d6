/* SPDX-License-Identifier: MIT
 *
 * follow_sse: follows one query to its outcome (shared/queue/follow.h) and sends it as server-sent
 * events (`check-query` in /openapi.yaml): queue, think, token, restart, reset, and finally
 * done or error. A reader that reconnects with an id (Last-Event-ID, ?after=) continues after it,
 * on any node.
 *
 * Lives in its owner, in the request's memory; the owner's on_gone calls follow_sse_fini. All on
 * the loop's thread.
 *
 *     follow_sse_init(&s, r, queue, &format);
 *     follow_watch(&s.follow, topic, seq);   before the verb that looks for the query, or after it
 *     stream_start(&s.stream);               the query is there
 *     stream_put(&s.stream, "sources", ...); events of the owner's own, if any
 *     follow_sse_start(&s);
 *
 * A draining node ends the stream between two events; the client resumes on another node.
 */
#ifndef PARLEY_ANSWER_FOLLOW_SSE_H
#define PARLEY_ANSWER_FOLLOW_SSE_H

#include "shared/http/request/stream.h"
#include "shared/queue/follow.h"

struct follow_sse;

/* Writes the data of the last event, a JSON object on one line. */
struct follow_sse_format {
    /* Data of `done`: the same object as the plain route. Runs at most once. */
    void (*put_done)(struct follow_sse *s, const struct outcome *outcome, struct buf *b);
    /* Data of `error`: Failed or Cancelled; NULL: the query no longer exists. Runs at most once. */
    void (*put_error)(struct follow_sse *s, const struct outcome *outcome, struct buf *b);
};

struct follow_sse {
    struct stream stream;
    struct follow follow;
    const struct follow_sse_format *format;
};

/* `queue` and `format` are borrowed. Reads the request's last event id. */
void follow_sse_init(struct follow_sse *s, struct request *r, struct queue *queue,
                     const struct follow_sse_format *format);
/* Accepts a zeroed one that was never initialised. */
void follow_sse_fini(struct follow_sse *s);

/* Sends pending events and follows the query. The stream must be started. */
void follow_sse_start(struct follow_sse *s);
/* Reads now what is stored, as if the node had been notified that it has changed. */
void follow_sse_read(struct follow_sse *s);
/* Ends the stream with an `error` event from the owner and stops waiting. `data` is copied. Does
 * nothing if the stream has ended. */
void follow_sse_fail(struct follow_sse *s, const struct buf *data);

#endif
