/* SPDX-License-Identifier: MIT
 * stream.c - see stream.h.
 *
 * Two buffers take turns: one is with libh2o until it asks for more (on_proceed), the other
 * collects. libh2o takes one h2o_send at a time and needs its bytes until then. A reader that left
 * is noticed by a failed write, which is another purpose of the comments.
 *
 * The stream of a request of the node's own code (inner.h) has no bytes: its events go to their
 * owner as they are put, and nothing waits. */
#include "shared/http/request/stream.h"

#include "shared/auth/token.h"
#include "shared/base/log.h"
#include "shared/http/request/accept.h"
#include "shared/http/request/inner.h"
#include "shared/http/request/problem.h"
#include "shared/http/wire/connection.h"

enum { COMMENT_EVERY_MS = 15000 };

static void end_inner(struct stream *s)
{
    if (!stream_is_over(s))
        return;
    s->is_ended = true;
    s->r->inner->on_end(s->r->inner);
}

void stream_flush(struct stream *s)
{
    if (!s->is_started || s->is_sending || s->is_ended)
        return;
    if (s->r->inner != NULL) {
        end_inner(s);
        return;
    }
    if (s->is_cut) {
        s->is_ended = true;
        connection_cut(&s->r->exchange, ":\n\n");
        return;
    }
    if (s->out.n == 0 && !s->is_ending)
        return;
    const char *end = s->form == STREAM_DATA_FIRST && s->out.n > 0
                          ? memmem(s->out.at, s->out.n, "\n\n", 2)
                          : NULL;
    size_t n = end == NULL ? s->out.n : (size_t)(end + 2 - s->out.at);
    buf_clear(&s->sending);
    if (n == s->out.n) {
        struct buf swap = s->sending;
        s->sending = s->out;
        s->out = swap;
    } else {
        buf_put(&s->sending, (struct str){s->out.at, n});
        s->out.n -= n;
        memmove(s->out.at, s->out.at + n, s->out.n);
    }
    s->is_sending = true;
    s->is_ended = s->is_ending && s->out.n == 0;
    h2o_iovec_t bytes = h2o_iovec_init(s->sending.at, s->sending.n);
    connection_wrote(&s->r->exchange);
    h2o_send(s->r->exchange.h2o, &bytes, 1,
             s->is_ended ? H2O_SEND_STATE_FINAL : H2O_SEND_STATE_IN_PROGRESS);
}

static void hold(struct stream *s)
{
    connection_hold_answer(&s->r->exchange, s->out.n + s->sending.n);
}

static void on_proceed(h2o_generator_t *generator, h2o_req_t *h2o)
{
    struct stream *s = container_of(generator, struct stream, generator);
    (void)h2o;
    s->is_sending = false;
    buf_clear(&s->sending);
    hold(s);
    if (s->out.n > 0 || stream_is_over(s))
        stream_flush(s);
    else if (s->on_idle != NULL)
        s->on_idle(s);
}

/* Called after text was put: ends a stream that holds too much. */
static void note_put(struct stream *s)
{
    bool has_room = connection_has_room(&s->r->exchange, s->out.n + s->sending.n);
    if (s->out.is_over || (s->resumes && !has_room)) {
        s->is_cut = true;
        buf_clear(&s->out);
    }
    hold(s);
}

static void put_text(struct stream *s, struct str text)
{
    if (s->is_cut || s->r->inner != NULL)
        return;
    buf_put(&s->out, text);
    note_put(s);
}

static void on_comment(struct deadline *deadline)
{
    struct stream *s = container_of(deadline, struct stream, comment);
    loop_set_deadline(s->r->server->loop, &s->comment, s->comment_ms);
    if (stream_is_idle(s)) {
        put_text(s, s->comment_text);
        stream_flush(s);
    }
}

static void on_right_over(struct deadline *deadline)
{
    struct stream *s = container_of(deadline, struct stream, right);
    request_revoke(s->r, ERR_TOKEN_EXPIRED);
}

void stream_put(struct stream *s, const char *event, struct str id, struct str data)
{
    if (stream_is_over(s))
        return;
    if (s->r->inner != NULL) {
        s->r->inner->on_event(s->r->inner, event, data);
        return;
    }
    struct str name = event == NULL ? STR("") : str_of(event);
    const struct str lines[2][2] = {{STR("event: "), name}, {STR("data: "), data}};
    if (id.n > 0) {
        buf_lit(&s->out, "id: ");
        buf_put(&s->out, id);
        buf_put_char(&s->out, '\n');
    }
    for (unsigned i = 0; i < 2; i++) {
        if (event == NULL && (s->form == STREAM_DATA_FIRST) == (i == 1))
            continue;
        const struct str *line = lines[s->form == STREAM_DATA_FIRST ? 1 - i : i];
        buf_put(&s->out, line[0]);
        buf_put(&s->out, line[1]);
        buf_put_char(&s->out, '\n');
    }
    buf_put_char(&s->out, '\n');
    note_put(s);
}

void stream_put_text(struct stream *s, struct str text)
{
    if (!stream_is_over(s))
        put_text(s, text);
}

void stream_cut(struct stream *s)
{
    if (stream_is_over(s))
        return;
    s->is_cut = true;
    buf_clear(&s->out);
    loop_cancel_deadline(s->r->server->loop, &s->comment);
    loop_cancel_deadline(s->r->server->loop, &s->right);
    stream_flush(s);
}

void stream_put_buf(struct stream *s, const char *event, struct str id, const struct buf *data)
{
    if (!data->is_over) {
        stream_put(s, event, id, buf_str(data));
        return;
    }
    log_write(LOG_ERROR, "event too large", LOG_STR("id", s->r->id), LOG_S("event", event));
    stream_put(s, "error", STR(""),
               STR("{\"detail\":\"The response is too large.\","
                   "\"code\":\"internal\"}"));
}

bool stream_is_wanted(struct request *r)
{
    struct str accept = request_header(r, "accept"), name = STR("text/event-stream");
    unsigned stream = accept_quality(accept, name),
             json = accept_quality(accept, STR("application/json"));
    bool is_wanted = stream > json || (stream > 0 && stream == json && accept_names(accept, name));
    return is_wanted && !request_is_head(r);
}

void stream_init(struct stream *s, struct request *r, enum stream_form form, bool resumes,
                 size_t max_bytes)
{
    *s = (struct stream){.generator = {on_proceed, NULL},
                         .r = r,
                         .form = form,
                         .resumes = resumes,
                         .content_type = "text/event-stream",
                         .first = STR(": here\n\n"),
                         .comment_text = STR(": still here\n\n"),
                         .comment_ms = COMMENT_EVERY_MS,
                         .comment = {.on_expire = on_comment},
                         .right = {.on_expire = on_right_over},
                         .out = {.max = max_bytes},
                         .sending = {.max = max_bytes}};
}

void stream_put_error(struct buf *b, struct request *r, enum err error, const char *detail,
                      const char *members, unsigned retry_after_s)
{
    const struct err_info *info = err_info(error);
    const char *text = detail == NULL ? info->text : detail;
    buf_put_char(b, '{');
    problem_put_facts(b, &(struct problem){.info = info,
                                           .status = info->status,
                                           .detail = text,
                                           .members = members,
                                           .instance = r->id});
    buf_lit(b, ",\"error\":");
    buf_put_json(b, str_of(text));
    buf_printf(b, ",\"retry_after\":%u}", retry_after_s);
}

/* Sends why the request's right has ended (rights.h) and ends. */
static void on_revoked(struct request *r)
{
    struct stream *s = r->stream;
    struct buf data;
    buf_init(&data, 1024);
    stream_put_error(&data, r, r->revoked, NULL, NULL, 0);
    if (!stream_is_over(s)) {
        stream_put_buf(s, "error", STR(""), &data);
        stream_end(s);
    }
    buf_fini(&data);
}

void stream_start(struct stream *s)
{
    respond_start_stream(s->r, s->content_type, &s->generator);
    s->is_started = true;
    s->r->stream = s;
    s->r->on_revoked = on_revoked;
    bool is_revoked = s->r->revoked != ERR_OK;
    if (is_revoked || s->r->expires_s > 0)
        loop_set_deadline(s->r->server->loop, &s->right,
                          is_revoked ? 0 : token_left_ms(s->r->expires_s));
    loop_set_deadline(s->r->server->loop, &s->comment, s->comment_ms);
    put_text(s, s->first);
    stream_flush(s);
}

void stream_end(struct stream *s)
{
    s->is_ending = true;
    loop_cancel_deadline(s->r->server->loop, &s->comment);
    loop_cancel_deadline(s->r->server->loop, &s->right);
    stream_flush(s);
}

void stream_fini(struct stream *s)
{
    if (s->r == NULL)
        return;
    loop_cancel_deadline(s->r->server->loop, &s->comment);
    loop_cancel_deadline(s->r->server->loop, &s->right);
    s->r->on_revoked = NULL;
    buf_fini(&s->out);
    buf_fini(&s->sending);
    s->is_ended = true;
}
