/* SPDX-License-Identifier: MIT
 * check_stream.c - check-query, and add-query with Wait, as server-sent events
 * (shared/answer/follow_sse.h).
 *
 * The watch is set before the check is sent, which registers this node in the same atomic step in
 * which it looks; once it says that the query is there, the stream starts. A query that was added
 * is there: the follow registers with its first look. */
#include "services/broker/added.h"
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/answer/follow_sse.h"

static void put_outcome(struct follow_sse *s, const struct outcome *o, struct buf *b)
{
    struct request *r = s->stream.r;
    if (o == NULL) {
        buf_lit(b, "{\"detail\":\"Not found.\",\"code\":\"not_found\"}");
        return;
    }
    bool is_detail = request_param_is_true(r, "Detail");
    buf_put_char(b, '{');
    outcome_put(b, r, s->follow.watch.topic, s->follow.watch.seq, o, is_detail, false);
    if (!is_detail)
        outcome_put_facts(b, o);
    buf_put_char(b, '}');
}

static void on_checked(struct request *r, enum err error, struct str reply)
{
    struct follow_sse *s = r->state;
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    r->was_parked = true;
    stream_start(&s->stream);
    follow_sse_start(s);
}

static void on_gone(struct request *r)
{
    follow_sse_fini(r->state);
}

static struct follow_sse *create(struct request *r)
{
    static const struct follow_sse_format format = {.put_done = put_outcome,
                                                    .put_error = put_outcome};
    struct follow_sse *s = request_alloc(r, sizeof *s);
    follow_sse_init(s, r, broker_of(r)->queue, &format);
    r->state = s;
    r->on_gone = on_gone;
    return s;
}

void check_stream_start(struct request *r, struct str topic, uint64_t seq)
{
    struct follow_sse *s = create(r);
    follow_watch(&s->follow, topic, seq);
    call_check(request_call(r, on_checked), .topic = topic, .seq = seq, .user = names_viewer(r),
               .mode = CHECK_WAIT);
}

void check_stream_begin_add(struct request *r, struct str topic)
{
    create(r)->follow.watch.topic = topic;
}

/* Its client learns of the Seq first: that, or the same request again, leads back here when the
 * stream breaks. */
void check_stream_on_added(struct request *r, enum err error, struct str reply)
{
    struct follow_sse *s = r->state;
    struct added added;
    struct buf *b = &r->server->scratch;
    if (!added_read(r, error, reply, &added))
        return;
    if (!added.is_again)
        follow_forget_seen(&s->follow);
    r->was_parked = true;
    buf_clear(b);
    added_put(b, r, &added);
    follow_watch(&s->follow, s->follow.watch.topic, added.seq);
    stream_start(&s->stream);
    stream_put_buf(&s->stream, "added", STR(""), b);
    follow_sse_start(s);
}
