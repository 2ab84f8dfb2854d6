/* SPDX-License-Identifier: MIT
 * download.c - see download.h. Two buffers take turns, as in stream.c: one is with libh2o until it
 * asks for more, the other collects. */
#include "shared/http/request/download.h"

#include "shared/auth/token.h"
#include "shared/http/request/respond.h"
#include "shared/http/wire/connection.h"

#include <stdio.h>

static void on_proceed(h2o_generator_t *generator, h2o_req_t *h2o)
{
    struct download *d = container_of(generator, struct download, generator);
    (void)h2o;
    d->is_sending = false;
    buf_clear(&d->sending);
    connection_hold_answer(&d->r->exchange, d->out.n);
    if (d->out.n > 0 || d->is_ending || d->is_cut)
        download_flush(d);
    else
        d->on_idle(d);
}

static void on_right_over(struct deadline *deadline)
{
    request_revoke(container_of(deadline, struct download, right)->r, ERR_TOKEN_EXPIRED);
}

static void on_left(struct left_listener *listener)
{
    download_cut(container_of(listener, struct download, left));
}

void download_init(struct download *d, struct request *r, size_t max_bytes,
                   void (*on_idle)(struct download *download))
{
    *d = (struct download){.r = r, .on_idle = on_idle};
    d->generator.proceed = on_proceed;
    d->right.on_expire = on_right_over;
    d->left.on_left = on_left;
    buf_init(&d->out, max_bytes);
    buf_init(&d->sending, max_bytes);
}

void download_fini(struct download *d)
{
    if (d->r == NULL)
        return;
    loop_cancel_deadline(d->r->server->loop, &d->right);
    request_off_left(d->r, &d->left);
    buf_fini(&d->out);
    buf_fini(&d->sending);
    d->is_ended = true;
}

bool download_has_room(struct download *d, size_t bytes)
{
    if (connection_has_room(&d->r->exchange, bytes))
        return true;
    if (d->is_started)
        download_cut(d);
    else
        respond_error(d->r, ERR_BUSY,
                      "Clients have left too many long answers of this node unread: read them, or "
                      "retry shortly.");
    return false;
}

static void start(struct request *r, const char *content_type, const char *filename,
                  h2o_generator_t *generator)
{
    char disposition[128];
    snprintf(disposition, sizeof disposition, "attachment; filename=\"%s\"", filename);
    respond_start_download(r, content_type, disposition, generator);
}

void download_answer_head(struct request *r, const char *content_type, const char *filename)
{
    static h2o_generator_t generator = {NULL, NULL};
    start(r, content_type, filename, &generator);
    h2o_send(r->exchange.h2o, NULL, 0, H2O_SEND_STATE_FINAL);
}

void download_start(struct download *d, const char *content_type, const char *filename)
{
    struct request *r = d->r;
    start(r, content_type, filename, &d->generator);
    d->is_started = true;
    request_on_left(r, &d->left);
    if (r->revoked != ERR_OK || r->expires_s > 0)
        loop_set_deadline(r->server->loop, &d->right,
                          r->revoked != ERR_OK ? 0 : token_left_ms(r->expires_s));
}

void download_flush(struct download *d)
{
    if (!d->is_started || d->is_sending || d->is_ended)
        return;
    d->is_cut |= d->out.is_over;
    if (d->is_cut) {
        d->is_ended = true;
        connection_cut(&d->r->exchange, "\n");
        return;
    }
    if (d->out.n == 0 && !d->is_ending)
        return;
    struct buf swap = d->sending;
    d->sending = d->out;
    d->out = swap;
    buf_clear(&d->out);
    d->is_sending = true;
    d->is_ended = d->is_ending;
    connection_hold_answer(&d->r->exchange, d->sending.n);
    h2o_iovec_t bytes = h2o_iovec_init(d->sending.at, d->sending.n);
    connection_wrote(&d->r->exchange);
    h2o_send(d->r->exchange.h2o, &bytes, 1,
             d->is_ended ? H2O_SEND_STATE_FINAL : H2O_SEND_STATE_IN_PROGRESS);
}

void download_end(struct download *d)
{
    d->is_ending = true;
    loop_cancel_deadline(d->r->server->loop, &d->right);
    download_flush(d);
}

void download_cut(struct download *d)
{
    d->is_cut = true;
    loop_cancel_deadline(d->r->server->loop, &d->right);
    download_flush(d);
}
