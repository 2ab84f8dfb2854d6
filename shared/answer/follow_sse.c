/* SPDX-License-Identifier: MIT
 * follow_sse.c - see follow_sse.h. More is read only when all that was put is sent, so a slow
 * reader costs one page of pieces and never more. */
#include "shared/answer/follow_sse.h"

#include <stdio.h>

static struct follow_sse *of_follow(struct follow *follow)
{
    return container_of(follow, struct follow_sse, follow);
}

/* --- what the follow gives -------------------------------------------------------------------- */

static void on_piece(struct follow *follow, enum follow_kind kind, struct str text,
                     struct piece_id id)
{
    static const char *const names[FOLLOW_NR] = {
        [FOLLOW_THINK] = "think", [FOLLOW_ANSWER] = "token", [FOLLOW_RESET] = "reset"};
    char bytes[PIECE_ID_BYTES];
    struct buf data;
    if (names[kind] == NULL)
        return;
    buf_init(&data, FOLLOW_TEXT_MAX_BYTES * 6);
    buf_lit(&data, "{\"text\":");
    buf_put_json(&data, text);
    buf_put_char(&data, '}');
    stream_put_buf(&of_follow(follow)->stream, names[kind],
                   kind == FOLLOW_RESET ? STR("") : piece_id_put(id, bytes), &data);
    buf_fini(&data);
}

static void on_restart(struct follow *follow)
{
    stream_put(&of_follow(follow)->stream, "restart", STR(""), STR("{}"));
}

static void on_position(struct follow *follow, uint64_t position, struct str eta)
{
    char data[128];
    int n = snprintf(data, sizeof data, "{\"Position\":%llu,\"EtaSeconds\":%.*s}",
                     (unsigned long long)position, STR_ARG(eta));
    if (n > 0 && (size_t)n < sizeof data)
        stream_put(&of_follow(follow)->stream, "queue", STR(""), (struct str){data, (size_t)n});
}

static void on_given(struct follow *follow)
{
    stream_flush(&of_follow(follow)->stream);
}

static void on_end(struct follow *follow, const struct outcome *o)
{
    struct follow_sse *s = of_follow(follow);
    bool is_done = o != NULL && o->answer.n > 0;
    if (stream_is_over(&s->stream)) {
        stream_flush(&s->stream); /* cut while a piece was put: nothing else ends it */
        return;
    }
    struct buf data;
    buf_init(&data, FOLLOW_TEXT_MAX_BYTES * 6);
    (is_done ? s->format->put_done : s->format->put_error)(s, o, &data);
    stream_put_buf(&s->stream, is_done ? "done" : "error", STR(""), &data);
    buf_fini(&data);
    stream_end(&s->stream);
}

static bool is_ready(struct follow *follow)
{
    return stream_is_idle(&of_follow(follow)->stream);
}

static void on_changed(struct follow *follow)
{
    struct stream *stream = &of_follow(follow)->stream;
    if (stream->r->server->is_draining)
        stream_end(stream);
    else
        follow_check(follow);
}

/* --- life ------------------------------------------------------------------------------------- */

static void on_idle(struct stream *stream)
{
    follow_resume(&container_of(stream, struct follow_sse, stream)->follow);
}

static struct piece_id last_id(struct request *r)
{
    struct piece_id id = {0, 0};
    struct str text = request_header(r, "last-event-id");
    if (text.at == NULL)
        text = request_param(r, "after");
    return piece_id_parse(text, &id) ? id : (struct piece_id){0, 0};
}

void follow_sse_init(struct follow_sse *s, struct request *r, struct queue *queue,
                     const struct follow_sse_format *format)
{
    static const struct follow_events events = {.on_piece = on_piece,
                                                .on_restart = on_restart,
                                                .on_position = on_position,
                                                .on_given = on_given,
                                                .on_end = on_end,
                                                .is_ready = is_ready,
                                                .on_changed = on_changed};
    s->format = format;
    stream_init(&s->stream, r, STREAM_EVENT_FIRST, true, FOLLOW_TEXT_MAX_BYTES * 8);
    s->stream.on_idle = on_idle;
    follow_init(&s->follow, queue, &events, last_id(r));
}

void follow_sse_start(struct follow_sse *s)
{
    stream_flush(&s->stream);
    follow_start(&s->follow);
}

void follow_sse_read(struct follow_sse *s)
{
    follow_check(&s->follow);
}

void follow_sse_fail(struct follow_sse *s, const struct buf *data)
{
    if (stream_is_over(&s->stream)) {
        stream_flush(&s->stream);
        return;
    }
    follow_stop(&s->follow);
    stream_put_buf(&s->stream, "error", STR(""), data);
    stream_end(&s->stream);
}

void follow_sse_fini(struct follow_sse *s)
{
    follow_fini(&s->follow);
    stream_fini(&s->stream);
}
