/* SPDX-License-Identifier: MIT
 * connection.c - see connection.h.
 *
 * libh2o skips its own read of a socket that is marked "do not read" and only calls its callback,
 * so the mark stays on and that callback is replaced by on_readable, which reads and then calls
 * libh2o's. libh2o sets its own again whenever it begins to read: that is found right after each
 * call into it (connection_take_over_reads), and for the next request of a connection in the same
 * pass of the loop (recheck). With HTTP/2 it stops reading while 512 KiB wait to be written, and
 * begins again after any write: connections_finish_pass finds that, and paused connections that may
 * be read again. Between request and answer the socket of HTTP/1 is leave.c's.
 *
 * libh2o is shown one request at a time: what a client sent after it is pushed back (rest).
 * connection_head.c has the heads, connection_read.c how much is read, streams.c the streams of
 * HTTP/2, connection_idle.c who makes room for whom.
 */
#include "shared/http/wire/connection_internal.h"

#include "shared/base/clock.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"

#include <h2o/http1.h>

enum {
    LEFT_BYTES = 8 << 10, /* that an anonymous client leaves in the heap, besides bodies */
    LEFT_TLS_BYTES = 40 << 10,
    STREAMS_AT_ONCE = 128, /* of HTTP/2, in STREAMS_MS */
    STREAMS_MS = 1,
    UNREAD_AT_ONCE = 256 /* answers that all anonymous connections together may leave unread */
};

static const struct sm_state states[] = {
    [CONNECTION_HANDSHAKE] = {"HANDSHAKE", SM(CONNECTION_PREFACE) | SM(CONNECTION_HEAD)},
    [CONNECTION_PREFACE] = {"PREFACE", SM(CONNECTION_HTTP2)},
    [CONNECTION_HEAD] = {"HEAD", SM(CONNECTION_BODY) | SM(CONNECTION_CHUNKS) |
                                     SM(CONNECTION_HTTP2) | SM(CONNECTION_GIVEN)},
    [CONNECTION_BODY] = {"BODY", SM(CONNECTION_HEAD)},
    [CONNECTION_CHUNKS] = {"CHUNKS", SM(CONNECTION_HEAD)},
    [CONNECTION_HTTP2] = {"HTTP2", 0},
    [CONNECTION_GIVEN] = {"GIVEN", 0},
};
static const struct sm sm = SM_OF("connection", states);

static void on_readable(h2o_socket_t *socket, const char *error);

void connection_move(struct connection *c, enum connection_state to)
{
    c->state = sm_move(&sm, (uint64_t)h2o_socket_get_fd(c->socket), c->state, to);
}

/* --- between libh2o and us -------------------------------------------------------------------- */

static void recheck_soon(struct connections *all)
{
    if (!h2o_timeout_is_linked(&all->recheck_soon))
        h2o_timeout_link(all->wire->loop->h2o, &all->wire->context.zero_timeout,
                         &all->recheck_soon);
}

void connection_recheck(struct connection *c)
{
    if (list_is_linked(&c->recheck))
        return;
    list_prepend(&c->all->rechecks, &c->recheck);
    recheck_soon(c->all);
}

void connection_take_over_reads(struct connection *c)
{
    h2o_socket_cb now = c->socket->_cb.read;
    if (now == NULL || now == on_readable || c->request != NULL || c->state == CONNECTION_GIVEN)
        return;
    c->on_read = now;
    c->socket->_cb.read = on_readable;
}

static void watch_writes(struct connection *c)
{
    if (c->state == CONNECTION_HTTP2 && !list_is_linked(&c->writing))
        list_prepend(&c->all->writers, &c->writing);
}

void connection_wrote(struct exchange *x)
{
    if (x->connection != NULL)
        watch_writes(x->connection);
}

void connection_cut(struct exchange *x, const char *last)
{
    h2o_iovec_t bytes = h2o_iovec_init(last, strlen(last));
    if (x->connection != NULL && x->h2o->version < 0x101) {
        connection_omit_goodbye(x->connection);
        connection_reset_at_close(x->connection);
    }
    connection_wrote(x);
    h2o_send(x->h2o, &bytes, 1, H2O_SEND_STATE_ERROR);
}

static void stop_reading(struct connection *c)
{
    if (h2o_socket_is_reading(c->socket))
        h2o_socket_read_stop(c->socket);
}

void connection_pause(struct connection *c)
{
    c->is_paused = true;
    stop_reading(c);
    watch_writes(c);
}

bool connection_pass(struct connection *c, const char *error)
{
    struct connections *all = c->all;
    all->current = c;
    c->on_read(c->socket, error);
    if (all->current != c)
        return false;
    all->current = NULL;
    connection_take_over_reads(c);
    watch_writes(c);
    return true;
}

/* An answer that finds no window holds its whole stream, and libh2o waits for the window. */
static bool is_unread(const struct connection *c)
{
    return c->unread_n > UNREAD_AT_LEAST && c->all->unread_n > UNREAD_AT_ONCE;
}

void connections_finish_pass(struct connections *all)
{
    struct list due = {0};
    struct connection *c;
    list_move(&due, &all->writers);
    while ((c = list_first(&due, struct connection, writing)) != NULL) {
        list_remove(&c->writing);
        list_append(&all->writers, &c->writing);
        bool writes = streams_write(c);
        streams_write_little(c);
        connection_take_over_reads(c);
        if (c->is_paused && (c->unanswered_n > 0 || writes)) {
            stop_reading(c);
        } else if (c->is_paused) {
            c->is_paused = false;
            h2o_socket_read_start(c->socket, on_readable);
            if (c->rest != NULL)
                connection_recheck(c);
        }
        if (connection_has_more(c->socket) && h2o_socket_is_reading(c->socket))
            connection_recheck(c);
        if (h2o_socket_is_reading(c->socket) && !writes)
            list_remove(&c->writing);
        if (!writes && is_unread(c))
            (void)!connection_pass(c, h2o_socket_error_closed);
    }
    all->handshake_messages_n = 0;
}

struct refusal connections_take_refusal(struct connections *all)
{
    struct refusal refusal = all->refusal;
    all->refusal = (struct refusal){.is_set = false};
    return refusal;
}

/* One of HTTP/1 may still wait to be looked at, where connections of HTTP/2 are too early. */
bool connection_close_idle(struct connection *c)
{
    connection_take_over_reads(c);
    bool writes = c->state == CONNECTION_HTTP2
                      ? streams_write(c)
                      : c->state == CONNECTION_HANDSHAKE && h2o_socket_is_writing(c->socket);
    if (writes) /* libh2o would wait for its client */
        shutdown(h2o_socket_get_fd(c->socket), SHUT_RDWR);
    return c->socket->_cb.read == on_readable && !connection_pass(c, h2o_socket_error_closed);
}

void connection_pass_refused(struct connection *c, struct refusal refusal)
{
    struct connections *all = c->all;
    all->refusal = refusal;
    if (connection_pass(c, NULL))
        (void)connections_take_refusal(all);
    all->refusal.is_set = false;
}

void connection_push_back(struct connection *c, size_t end)
{
    h2o_buffer_t *input = c->socket->input;
    if (end >= input->size)
        return;
    c->rest_n = input->size - end;
    c->rest = mem_alloc(c->rest_n);
    memcpy(c->rest, input->bytes + end, c->rest_n);
    input->size = end;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void advance(struct connection *c)
{
    switch (c->state) {
    case CONNECTION_HEAD: connection_take_head(c); break;
    case CONNECTION_BODY:
        if (c->socket->input->size >= c->most_n)
            (void)!connection_pass(c, NULL);
        break;
    case CONNECTION_CHUNKS: connection_take_chunks(c); break;
    case CONNECTION_HTTP2: streams_advance(c); break;
    case CONNECTION_PREFACE: connection_take_preface(c); break;
    case CONNECTION_HANDSHAKE:
    case CONNECTION_GIVEN:
    case CONNECTION_NR: abort();
    }
}

/* HTTP/2: have enough requests begun in this millisecond? The memory of a stream is freed once its
 * answer is written, at the end of the pass. */
static bool is_too_early(const struct connection *c)
{
    return c->state == CONNECTION_HTTP2 && c->all->begun_n >= STREAMS_AT_ONCE;
}

/* Reads on; with TLS, what was decrypted and not read yet does not make the socket readable. */
static void read_on(struct connection *c, const char *error)
{
    if (error == NULL && !connection_read(c, &error))
        return;
    if (error == NULL && connection_has_more(c->socket))
        connection_recheck(c);
    if (error != NULL)
        (void)!connection_pass(c, error);
    else
        advance(c);
}

static void on_readable(h2o_socket_t *socket, const char *error)
{
    struct connection *c = socket->on_close.data;
    if (c->state == CONNECTION_HANDSHAKE)
        connection_shake_hands(c);
    else if (!list_is_linked(&c->recheck) && !is_too_early(c))
        read_on(c, error);
}

/* --- requests --------------------------------------------------------------------------------- */

static void take_rest_back(struct connection *c)
{
    h2o_buffer_t **input = &c->socket->input;
    if (c->rest == NULL)
        return;
    h2o_iovec_t room = h2o_buffer_reserve(input, c->rest_n);
    memcpy(room.base, c->rest, c->rest_n);
    (*input)->size += c->rest_n;
    c->socket->bytes_read = c->rest_n;
    free(c->rest);
    c->rest = NULL;
    c->rest_n = 0;
}

void connection_begin(struct exchange *x)
{
    h2o_conn_t *conn = x->h2o->conn;
    struct connection *c = conn == NULL ? NULL : connection_of(conn->callbacks->get_socket(conn));
    x->connection = c;
    if (c == NULL)
        return;
    connection_set_idle(c, false);
    c->has_asked = true;
    c->busy_n++;
    if (c->state != CONNECTION_HTTP2) {
        (void)!connection_charge(c, 0, c->is_body_authenticated);
        c->request = x;
        const h2o_iovec_t *body = &x->h2o->entity;
        connection_push_back(c, body->base == NULL
                                    ? c->head_n
                                    : (size_t)(body->base - c->socket->input->bytes) + body->len);
    } else if (c->all->begun_n++ == 0) {
        loop_set_deadline(c->all->wire->loop, &c->all->recheck_later, STREAMS_MS);
    }
    connection_hold(x, x->h2o->entity.len);
}

void connection_note_account(struct exchange *x)
{
    if (x->connection != NULL)
        connection_hold(x, x->held_bytes);
}

void connection_answered(struct exchange *x)
{
    struct connection *c = x->connection;
    if (c == NULL)
        return;
    watch_writes(c);
    if (!x->pauses)
        return;
    x->pauses = false;
    c->unanswered_n--;
}

void connection_answers_anonymous(struct exchange *x)
{
    struct connection *c = x->connection;
    if (c == NULL || c->state != CONNECTION_HTTP2)
        return;
    streams_write_little(c);
    x->is_unread = true;
    c->unread_n++;
    c->all->unread_n++;
}

void connection_end(struct exchange *x)
{
    struct connection *c = x->connection;
    if (c == NULL)
        return;
    connection_answered(x);
    c->unread_n -= x->is_unread;
    c->all->unread_n -= x->is_unread;
    connection_hold(x, 0);
    connection_hold_answer(x, 0);
    if (c->state != CONNECTION_HTTP2) {
        c->request = NULL;
        if (c->state != CONNECTION_HEAD)
            connection_move(c, CONNECTION_HEAD);
        c->head_n = c->scan_n = 0;
        c->is_body_authenticated = false;
        connection_recheck(c);
    }
    if (--c->busy_n > 0)
        return;
    c->is_authenticated = x->is_authenticated;
    connection_set_idle(c, true);
}

/* libh2o has released requests in this pass, and reads their connections again; or a connection of
 * HTTP/2 has begun and had to wait. */
static void recheck(struct connections *all)
{
    struct connection *c;
    while ((c = list_first(&all->rechecks, struct connection, recheck)) != NULL &&
           !is_too_early(c)) {
        list_remove(&c->recheck);
        connection_take_over_reads(c);
        if (c->is_paused || c->socket->_cb.read != on_readable)
            continue;
        if (c->rest == NULL) {
            if (connection_has_more(c->socket))
                read_on(c, NULL);
            continue;
        }
        take_rest_back(c);
        if (connection_has_more(c->socket))
            connection_recheck(c);
        advance(c);
    }
}

static void on_recheck(h2o_timeout_entry_t *entry)
{
    recheck(container_of(entry, struct connections, recheck_soon));
}

static void on_recheck_later(struct deadline *deadline)
{
    struct connections *all = container_of(deadline, struct connections, recheck_later);
    all->begun_n = 0;
    recheck(all);
}

uint64_t connection_on_reset(struct exchange *x, connection_reset_cb *on_reset, void *arg,
                             uint32_t *ret_stream)
{
    struct connection *c = x->connection;
    *ret_stream = frames_stream_of(x->h2o);
    if (c == NULL)
        return 0;
    c->on_reset = on_reset;
    c->on_reset_arg = arg;
    return c->number;
}

bool connection_was_reset(const struct exchange *x)
{
    return frames_have_reset(x->h2o);
}

struct exchange *connection_exchange(const struct connection *c)
{
    return c->request;
}

void connection_upgrade(struct exchange *x, connection_upgraded_cb *on_upgraded, void *arg)
{
    h2o_http1_upgrade(x->h2o, NULL, 0, on_upgraded, arg);
}

void connection_give_away(h2o_socket_t *socket)
{
    struct connection *c = connection_of(socket);
    if (c == NULL)
        return;
    list_remove(&c->recheck);
    connection_set_idle(c, false);
    connection_move(c, CONNECTION_GIVEN);
    take_rest_back(c);
}

/* --- life ------------------------------------------------------------------------------------- */

static void on_gone(void *data)
{
    struct connection *c = data;
    struct connections *all = c->all;
    if (all->current == c)
        all->current = NULL;
    list_remove(&c->recheck);
    list_remove(&c->writing);
    loop_cancel_deadline(all->wire->loop, &c->many_streams);
    if (!c->is_authenticated)
        connections_free_later(all, (c->tls == NULL ? LEFT_BYTES : LEFT_TLS_BYTES) +
                                        c->stream_bytes + c->charged);
    (void)!connection_charge(c, 0, c->is_body_authenticated);
    all->stream_bytes -= c->stream_bytes;
    address_take_idle(c->address, &c->idle, c->is_authenticated);
    addresses_leave(all->addresses, c->address);
    all->connection_n--;
    metrics_set(all->wire->metrics, METRIC_CONNECTIONS, (int64_t)all->connection_n);
    connection_free_tls(c);
    free(c->rest);
    free(c);
    connections_have_room(all);
}

struct connection *connection_of(h2o_socket_t *socket)
{
    return socket == NULL || socket->on_close.cb != on_gone ? NULL : socket->on_close.data;
}

void connection_accept(struct connections *all, h2o_socket_t *socket, struct tls *tls)
{
    struct sockaddr_storage storage = {.ss_family = AF_UNSPEC};
    struct connection *c = mem_zeroed(sizeof *c);
    h2o_socket_getpeername(socket, (struct sockaddr *)&storage);
    c->all = all;
    c->number = ++all->accepted_n;
    c->socket = socket;
    c->accepted_ms = clock_mono_ms();
    streams_init(c);
    c->address = addresses_enter(all->addresses, (struct sockaddr *)&storage);
    all->connection_n++;
    metrics_set(all->wire->metrics, METRIC_CONNECTIONS, (int64_t)all->connection_n);
    socket->on_close.cb = on_gone;
    socket->on_close.data = c;
    c->state = tls == NULL ? CONNECTION_HEAD : CONNECTION_HANDSHAKE;
    if (tls == NULL)
        h2o_accept(&all->wire->accept, socket);
    else
        connection_secure(c, tls);
    h2o_socket_dont_read(socket, 1);
    connection_take_over_reads(c);
    connection_set_idle(c, true);
}

struct connections *connections_create(struct wire *wire)
{
    struct connections *all = mem_zeroed(sizeof *all);
    all->wire = wire;
    all->addresses = addresses_create();
    all->recheck_soon.cb = on_recheck;
    all->recheck_later.on_expire = on_recheck_later;
    connections_init_held(all);
    return all;
}

void connections_destroy(struct connections *all)
{
    if (all == NULL)
        return;
    connections_end_handshakes(all);
    loop_cancel_deadline(all->wire->loop, &all->recheck_later);
    loop_cancel_deadline(all->wire->loop, &all->trim);
    addresses_destroy(all->addresses);
    free(all);
}
