/* SPDX-License-Identifier: MIT
 * streams.c - the bodies of one connection of HTTP/2 (connection_internal.h).
 *
 * libh2o 2.2 gives each of a connection's 100 streams a window of 16 MiB and keeps what comes. So
 * after each read those that are on their way are judged: a large one by its head, once; all that
 * nobody proved together by what they hold. A refused stream is taken through the states of one
 * whose body is complete, as libh2o itself does with a head that it refuses, so that it gets an
 * answer. libh2o resets a stream that sends on after its answer began, and drops what of the answer
 * is not written yet: the connection is read again only once the answer was given. */
#include "shared/http/wire/connection_internal.h"

#include <h2o/http2.h>
#include <h2o/http2_internal.h>

_Static_assert(
    H2O_LIBRARY_VERSION_MAJOR == 0 && H2O_LIBRARY_VERSION_MINOR == 13,
    "the layout of connections and streams is that of libh2o 2.2 (library version 0.13)");

/* Bytes of anonymous bodies and frames that one connection may hold. One legal body fits. */
enum { ANONYMOUS_BYTES = ADMIT_PUBLIC_BYTES + (4 << 10) };

/* Memory that libh2o allocates for a stream, and for the first byte of a body. Many streams at a
 * time are usual, all heads first and then their bodies, so a connection may keep them for a
 * moment, as long as all connections of the thread together have less than MANY_BYTES. */
enum {
    STREAM_BYTES = 5 << 10,
    BODY_BYTES = 8 << 10,
    MANY_STREAMS_MS = 250,
    MANY_BYTES = 512 << 10,
    TIGHT_BYTES = 20 << 10
};

/* The size to which a body of unknown length may grow. */
enum { ROOM_BYTES = ADMIT_PUBLIC_BYTES + CONNECTION_READ_LEAST_BYTES };

/* Limit of one connection, with streams and room: one legal body fits. */
enum { TIGHT_ALL_BYTES = ROOM_BYTES + STREAM_BYTES };

/* Bytes that may wait of answers and acknowledgements while one write has not ended, and how much
 * one write takes: libh2o keeps as much as there is room for, 80 KiB, until its client has read it.
 * Anonymous requests begin so many at a time, so that answers may be written in between. */
enum { UNSENT_BYTES = 8 << 10, WRITE_BYTES = 16 << 10, HEADS_AT_ONCE = 4 };
static h2o_buffer_prototype_t little = {{0}, {WRITE_BYTES}};

/* libh2o uses this bit with HTTP/1 only; here it marks authenticated senders. */
static bool is_authenticated(const h2o_http2_stream_t *stream)
{
    return stream->req.http1_is_persistent != 0;
}

static size_t body_n(const h2o_http2_stream_t *stream)
{
    return stream->_req_body == NULL ? 0 : stream->_req_body->size;
}

/* Returns the bytes of a frame that is not whole yet, and 0 with authenticated bodies, since it is
 * most likely theirs. */
static size_t input_n(const struct connection *c)
{
    return c->is_body_authenticated ? 0 : c->socket->input->size;
}

static bool is_length_known(const h2o_http2_stream_t *stream)
{
    return stream->_expected_content_length != SIZE_MAX;
}

static struct str field_of(const h2o_req_t *h2o, const char *name)
{
    ssize_t at = h2o_find_header_by_str(&h2o->headers, name, strlen(name), -1);
    if (at == -1)
        return (struct str){NULL, 0};
    return (struct str){h2o->headers.entries[at].value.base, h2o->headers.entries[at].value.len};
}

static struct admission ask(struct connection *c, const h2o_http2_stream_t *stream)
{
    const h2o_req_t *h2o = &stream->req;
    struct admit_ask asked = {
        .method = {h2o->input.method.base, h2o->input.method.len},
        .target = {h2o->input.path.base, h2o->input.path.len},
        .authorization = field_of(h2o, "authorization"),
        .caller_key = field_of(h2o, "x-caller-key"),
        .api_key = field_of(h2o, "x-api-key"),
        .length = is_length_known(stream) ? stream->_expected_content_length : UINT64_MAX,
    };
    /* An admission has no pointers. */
    /* cppcheck-suppress returnDanglingLifetime */
    return c->all->wire->rules->admit(c->all->wire->arg, &asked);
}

static void refuse(struct connection *c, h2o_http2_stream_t *stream, enum err error)
{
    h2o_http2_conn_t *conn = c->socket->data;
    h2o_http2_stream_set_state(conn, stream, H2O_HTTP2_STREAM_STATE_REQ_PENDING);
    h2o_http2_stream_set_state(conn, stream, H2O_HTTP2_STREAM_STATE_SEND_HEADERS);
    if (conn->pull_stream_ids.max_processed < stream->stream_id)
        conn->pull_stream_ids.max_processed = stream->stream_id;
    connections_free_later(c->all, STREAM_BYTES + body_n(stream));
    h2o_buffer_dispose(&stream->_req_body);
    stream->req.entity = h2o_iovec_init(NULL, 0);
    c->all->refusal =
        (struct refusal){.is_set = true,
                         .error = error,
                         .length = is_length_known(stream) ? stream->_expected_content_length : 0};
    c->unanswered_n++;
    h2o_process_request(&stream->req);
    c->all->refusal.is_set = false;
    connection_pause(c);
}

/* Returns how much the stream's route takes: at most, or from senders without proof. */
static size_t route_most(struct connection *c, const h2o_http2_stream_t *stream,
                         bool is_for_authenticated)
{
    const struct wire *wire = c->all->wire;
    const h2o_req_t *h2o = &stream->req;
    struct str method = {h2o->input.method.base, h2o->input.method.len};
    struct str target = {h2o->input.path.base, h2o->input.path.len};
    return wire->rules->body_most(wire->arg, method, target, is_for_authenticated);
}

/* The next stream whose body is on its way, from bucket *at on; NULL at the end. */
static h2o_http2_stream_t *next_receiving(h2o_http2_conn_t *conn, khiter_t *at)
{
    while (*at < kh_end(conn->streams)) {
        khiter_t here = (*at)++;
        if (!kh_exist(conn->streams, here))
            continue;
        h2o_http2_stream_t *stream = kh_val(conn->streams, here);
        if (stream->state == H2O_HTTP2_STREAM_STATE_RECV_BODY && stream->_req_body != NULL)
            return stream;
    }
    return NULL;
}

/* Returns the bytes that are held, or will be, for the bodies of authenticated senders. */
static size_t authenticated_bytes(h2o_http2_conn_t *conn)
{
    size_t sum = 0;
    h2o_http2_stream_t *stream;
    for (khiter_t at = 0; (stream = next_receiving(conn, &at)) != NULL;)
        if (is_authenticated(stream))
            sum += is_length_known(stream) ? stream->_expected_content_length : body_n(stream);
    return sum;
}

static void make_room(h2o_http2_stream_t *stream, size_t bytes)
{
    connection_make_room(&stream->_req_body, bytes);
    if (stream->req.entity.base != NULL) /* the body is whole, its trailers are not */
        stream->req.entity.base = stream->_req_body->bytes;
}

/* For a body that nobody proved, as far as one connection may hold that much, and for the read that
 * shows that it is too large. Room that stays empty costs nothing at first, but is resident once
 * the heap is used again. */
static void make_anonymous_room(struct connection *c, h2o_http2_stream_t *stream, size_t most)
{
    size_t bytes = most + CONNECTION_READ_LEAST_BYTES;
    const h2o_buffer_t *now = stream->_req_body;
    size_t has_n = now->bytes == NULL ? 0 : now->capacity;
    if (has_n >= bytes || c->room_bytes - has_n + bytes > ROOM_BYTES)
        return;
    c->room_bytes += bytes - has_n;
    make_room(stream, bytes);
}

/* For a body that is not judged yet. */
static void make_room_early(struct connection *c, h2o_http2_stream_t *stream)
{
    size_t n = body_n(stream);
    if (is_length_known(stream))
        make_anonymous_room(c, stream, stream->_expected_content_length);
    else if (n > CONNECTION_GROWING_BYTES && stream->_req_body->capacity <= BODY_BYTES)
        make_anonymous_room(c, stream, route_most(c, stream, false));
}

/* Is it large enough to be judged by itself, and what then? True: it was refused. */
static bool judge_one(struct connection *c, h2o_http2_stream_t *stream, bool is_forced)
{
    size_t n = body_n(stream);
    bool is_large =
        n > ADMIT_UNASKED_BYTES ||
        (is_length_known(stream) && stream->_expected_content_length > ADMIT_UNASKED_BYTES);
    if (is_authenticated(stream)) {
        if (n <= ADMIT_UNASKED_BYTES || n <= route_most(c, stream, true))
            return false;
        refuse(c, stream, ERR_TOO_LARGE);
        return true;
    }
    if (is_length_known(stream) && n > stream->_expected_content_length) {
        refuse(c, stream, ERR_BAD_REQUEST);
        return true;
    }
    if (!is_large && !is_forced) {
        make_room_early(c, stream);
        return false;
    }
    struct admission admission = ask(c, stream);
    if (admission.is_refused) {
        refuse(c, stream, admission.error);
        return true;
    }
    if (!admission.is_authenticated) {
        if (n <= admission.most && !is_forced) {
            make_anonymous_room(c, stream,
                                is_length_known(stream) ? stream->_expected_content_length
                                                        : admission.most);
            return false;
        }
        bool is_too_large = n + input_n(c) > admission.most;
        refuse(c, stream, is_too_large ? ERR_TOO_LARGE : ERR_BUSY);
        return true;
    }
    stream->req.http1_is_persistent = 1;
    if (connection_charge(c, authenticated_bytes(c->socket->data), true)) {
        if (is_large && is_length_known(stream))
            make_room(stream, stream->_expected_content_length);
        return false;
    }
    refuse(c, stream, ERR_BUSY);
    return true;
}

/* Judges them one after the other, up to the first that is refused: that changes the table. */
static bool judge_next(struct connection *c)
{
    h2o_http2_conn_t *conn = c->socket->data;
    h2o_http2_stream_t *stream;
    for (khiter_t at = 0; (stream = next_receiving(conn, &at)) != NULL;)
        if (judge_one(c, stream, false))
            return true;
    return false;
}

static h2o_http2_stream_t *newest_anonymous(h2o_http2_conn_t *conn)
{
    h2o_http2_stream_t *newest = NULL, *stream;
    for (khiter_t at = 0; (stream = next_receiving(conn, &at)) != NULL;)
        if (!is_authenticated(stream) && (newest == NULL || stream->stream_id > newest->stream_id))
            newest = stream;
    return newest;
}

/* There are too many: the newest that nobody proves is refused. The oldest has its room already. */
static bool refuse_newest(struct connection *c)
{
    h2o_http2_stream_t *stream;
    while ((stream = newest_anonymous(c->socket->data)) != NULL)
        if (judge_one(c, stream, true))
            return true;
    return false;
}

/* Returns the bytes of anonymous bodies, and of the frame that is not whole yet. */
static size_t anonymous_bytes(const struct connection *c)
{
    h2o_http2_conn_t *conn = c->socket->data;
    size_t sum = input_n(c);
    h2o_http2_stream_t *stream;
    for (khiter_t at = 0; (stream = next_receiving(conn, &at)) != NULL;)
        if (!is_authenticated(stream))
            sum += body_n(stream);
    return sum;
}

/* Returns the bytes that were allocated for them at once. */
static size_t room_bytes(h2o_http2_conn_t *conn)
{
    size_t sum = 0;
    h2o_http2_stream_t *stream;
    for (khiter_t at = 0; (stream = next_receiving(conn, &at)) != NULL;)
        if (!is_authenticated(stream) && stream->_req_body->bytes != NULL)
            sum += stream->_req_body->capacity;
    return sum;
}

/* Returns how much may be read before the fullest of them is full, and libh2o doubles it. */
static size_t room_left(h2o_http2_conn_t *conn)
{
    size_t least = SIZE_MAX;
    h2o_http2_stream_t *stream;
    for (khiter_t at = 0; (stream = next_receiving(conn, &at)) != NULL;) {
        const h2o_buffer_t *body = stream->_req_body;
        if (!is_authenticated(stream) && body->bytes != NULL && body->capacity > BODY_BYTES &&
            body->capacity - body->size < least)
            least = body->capacity - body->size;
    }
    return least;
}

/* Returns the bytes that libh2o allocates in addition. */
static size_t stream_bytes(const struct connection *c)
{
    h2o_http2_conn_t *conn = c->socket->data;
    size_t sum = 0;
    h2o_http2_stream_t *stream;
    for (khiter_t at = 0; (stream = next_receiving(conn, &at)) != NULL;)
        if (!is_authenticated(stream))
            sum += STREAM_BYTES + (body_n(stream) > 0 ? BODY_BYTES : 0);
    return sum;
}

/* All that its anonymous streams and their bodies take. */
static size_t all_bytes(h2o_http2_conn_t *conn)
{
    size_t sum = 0;
    h2o_http2_stream_t *stream;
    for (khiter_t at = 0; (stream = next_receiving(conn, &at)) != NULL;)
        if (!is_authenticated(stream))
            sum +=
                STREAM_BYTES + (stream->_req_body->bytes == NULL ? 0 : stream->_req_body->capacity);
    return sum;
}

/* Notes what its anonymous streams cost, and returns the sum of all connections. */
static size_t count_streams(struct connection *c)
{
    size_t now = stream_bytes(c);
    c->all->stream_bytes += now - c->stream_bytes;
    c->stream_bytes = now;
    return c->all->stream_bytes;
}

static void judge(struct connection *c)
{
    h2o_http2_conn_t *conn = c->socket->data;
    c->room_left = SIZE_MAX;
    if (conn->state != H2O_HTTP2_CONN_STATE_OPEN)
        return;
    /* libh2o keeps frames of one head up to 400 KiB, and cannot continue without all of them. */
    if (conn->_headers_unparsed != NULL &&
        conn->_headers_unparsed->size > c->all->wire->config->header_max_bytes) {
        (void)!connection_pass(c, h2o_socket_error_closed);
        return;
    }
    if (conn->num_streams.pull.open > conn->num_streams.pull.half_closed) {
        c->room_bytes = room_bytes(conn);
        while (judge_next(c))
            ;
        bool is_tight = c->is_suspect || count_streams(c) > MANY_BYTES;
        while (anonymous_bytes(c) > ANONYMOUS_BYTES && refuse_newest(c))
            ;
        while (is_tight && stream_bytes(c) > TIGHT_BYTES && refuse_newest(c))
            ;
        while (is_tight && all_bytes(conn) > TIGHT_ALL_BYTES && refuse_newest(c))
            ;
        if (count_streams(c) > 0 && c->stream_bytes > TIGHT_BYTES &&
            !deadline_is_set(&c->many_streams))
            loop_set_deadline(c->all->wire->loop, &c->many_streams, MANY_STREAMS_MS);
        c->room_left = room_left(conn);
    } else if (c->charged == 0 && c->stream_bytes == 0) {
        return;
    }
    (void)count_streams(c);
    (void)!connection_charge(c, authenticated_bytes(conn), true);
}

static void on_many_streams(struct deadline *deadline)
{
    struct connection *c = container_of(deadline, struct connection, many_streams);
    if (c->state != CONNECTION_HTTP2)
        return;
    c->is_suspect = stream_bytes(c) > TIGHT_BYTES;
    judge(c);
}

void streams_write_little(struct connection *c)
{
    h2o_http2_conn_t *conn = c->socket->data;
    if (!c->is_authenticated && !c->is_body_authenticated && conn->_write.buf->bytes == NULL)
        h2o_buffer_init(&conn->_write.buf, &little);
}

bool streams_write(const struct connection *c)
{
    const h2o_http2_conn_t *conn = c->socket->data;
    return h2o_socket_is_writing(c->socket) || conn->_write.buf->size > 0 ||
           conn->_write.buf_in_flight != NULL;
}

/* Does it not read what its frames are answered with: PING, SETTINGS, those of streams that have
 * ended, and its requests? */
static bool has_unsent(const struct connection *c)
{
    const h2o_http2_conn_t *conn = c->socket->data;
    return streams_write(c) && (conn->_write.buf->size > UNSENT_BYTES ||
                                (!c->is_authenticated && c->unread_n > UNREAD_AT_LEAST));
}

/* libh2o keeps fields of its answers so that later ones may name them by number: some 3 KiB in 30
 * small pieces, scattered between streams. Answers to anonymous clients spell them out. */
static void set_header_table(struct connection *c)
{
    h2o_http2_conn_t *conn = c->socket->data;
    size_t *capacity = &conn->_output_header_table.hpack_capacity;
    if (!c->is_authenticated && *capacity > 0) {
        c->header_table_bytes = *capacity;
        *capacity = 0;
    } else if (c->is_authenticated && *capacity == 0) {
        *capacity = c->header_table_bytes;
    }
}

void streams_advance(struct connection *c)
{
    const h2o_http2_conn_t *conn = c->socket->data;
    set_header_table(c);
    if (!c->is_authenticated)
        connection_push_back(c, frames_end_of_heads(c, HEADS_AT_ONCE));
    if (!c->is_body_authenticated && c->rest == NULL)
        frames_cut(c);
    frames_note_resets(c);
    if (!connection_pass(c, NULL))
        return;
    streams_write_little(c);
    /* It ends once its last write has, and libh2o takes nothing from it any more. */
    if (conn->state == H2O_HTTP2_CONN_STATE_IS_CLOSING)
        h2o_buffer_consume(&c->socket->input, c->socket->input->size);
    if (has_unsent(c))
        connection_pause(c);
    if (c->rest != NULL)
        connection_recheck(c);
    judge(c);
}

void streams_init(struct connection *c)
{
    c->many_streams.on_expire = on_many_streams;
    c->room_left = SIZE_MAX;
}
