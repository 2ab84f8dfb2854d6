/* SPDX-License-Identifier: MIT
 *
 * follow: one query, followed to its outcome as server-sent events (contract, section 7): queue,
 * think, token, restart, reset, and at the end done or error. Ids are `<attempt>-<n>`, and a reader
 * that comes back with one (Last-Event-ID, ?after=) goes on behind it, on any node.
 *
 * It does not look whether the query is there or whose it is: that is the caller's, before it
 * starts. Lives in its owner, in the request's memory; the owner's on_gone calls follow_fini. All
 * on the loop's thread.
 *
 *     follow_init(&f, r, queue, &format);
 *     follow_watch(&f, topic, seq);      before the verb that looks for the query, or after it
 *     stream_start(&f.stream);           the query is there
 *     stream_put(&f.stream, "sources", ...);   events of the caller's own, if any
 *     follow_start(&f);
 *
 * A node that drains ends the stream between two events; the client goes on elsewhere.
 */
#ifndef PARLEY_ANSWER_FOLLOW_H
#define PARLEY_ANSWER_FOLLOW_H

#include "shared/http/stream.h"
#include "shared/queue/queue.h"

struct follow;

/* Who writes the data of the last event, a JSON object on one line. */
struct follow_format {
    /* Of `done`: the same object as the plain route. Runs at most once. */
    void (*put_done)(struct follow *follow, const struct outcome *outcome, struct buf *b);
    /* Of `error`: Failed or Cancelled; NULL: the query is no longer there. Runs at most once. */
    void (*put_error)(struct follow *follow, const struct outcome *outcome, struct buf *b);
};

struct follow {
    struct stream stream;
    const struct follow_format *format;
    struct queue *queue;
    struct watch watch;
    struct call look;
    uint64_t attempt, n;           /* of the last piece read */
    uint64_t seen_attempt, seen_n; /* what the client has already */
    struct buf answer;             /* answer text of this attempt so far */
    uint64_t position;             /* last told, plus 1 */
    bool has_text, is_started, is_again;
};

/* `queue` and `format` are borrowed. Reads the last event id that the request comes with. */
void follow_init(struct follow *follow, struct request *r, struct queue *queue,
                 const struct follow_format *format);
/* Listens for the query. `topic` (a name) is borrowed and lives as long as the request. Set before
 * the verb that registers this node no outcome is missed; set after it none either, since
 * follow_start looks first. */
void follow_watch(struct follow *follow, struct str topic, uint64_t seq);
/* Reads what there is and goes on from there to the end. The stream must be started. */
void follow_start(struct follow *follow);
/* Does the client come back for the rest? Then it has the events that came before the answer. */
bool follow_is_resumed(const struct follow *follow);
/* What the client has is no part of this query: it is told all of it. Before follow_start. */
void follow_forget_seen(struct follow *follow);
/* Ends the stream with an `error` of the caller's: it waits no longer. `data` is copied. Nothing
 * happens when it has ended. */
void follow_fail(struct follow *follow, const struct buf *data);
/* Accepts a follow that was zeroed and never initialised. */
void follow_fini(struct follow *follow);

#endif
