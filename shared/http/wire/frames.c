/* SPDX-License-Identifier: MIT
 * frames.c - frames of HTTP/2, before libh2o sees them (connection_internal.h): DATA frames that
 * are not whole yet, the ends of heads, and streams that the client resets.
 *
 * libh2o takes whole frames only: one of 16 KiB grows the input of its connection to 32 KiB, and is
 * then copied into the body. So the header of an unfinished DATA frame is rewritten for what has
 * come of it, and the next read begins with a header for the rest, which is cut again if need be.
 * Flow control counts the same bytes: padding stays with the rest. */
#include "shared/http/wire/connection_internal.h"

#include <h2o/http2.h>
#include <h2o/http2_internal.h>

enum { HEADER_BYTES = 9, FRAME_MOST_BYTES = 16384 /* libh2o refuses larger ones */ };

_Static_assert(sizeof((struct connection){0}.cut) == HEADER_BYTES + 1,
               "a header and a padding length");

static size_t length_of(const uint8_t *header)
{
    return (size_t)header[0] << 16 | (size_t)header[1] << 8 | header[2];
}

/* Where the frame begins that is not whole; `size` when there is none, or not all of its header. */
static size_t find_unfinished(const uint8_t *input, size_t size)
{
    size_t at = 0;
    while (at + HEADER_BYTES <= size) {
        size_t end = at + HEADER_BYTES + length_of(input + at);
        if (end > size)
            return at;
        at = end;
    }
    return size;
}

void frames_cut(struct connection *c)
{
    h2o_buffer_t *input = c->socket->input;
    size_t at = find_unfinished((uint8_t *)input->bytes, input->size);
    uint8_t *header = (uint8_t *)input->bytes + at;
    if (input->size - at < sizeof c->cut || header[3] != H2O_HTTP2_FRAME_TYPE_DATA)
        return;
    uint8_t flags = header[4];
    int32_t stream_id = (int32_t)(h2o_http2_decode32u(header + 5) & 0x7fffffff);
    bool is_padded = (flags & H2O_HTTP2_FRAME_FLAG_PADDED) != 0;
    size_t length = length_of(header), padding_n = is_padded ? 1 + (size_t)header[9] : 0;
    size_t come_n = input->size - at - HEADER_BYTES - is_padded;
    if (come_n == 0 || come_n + padding_n >= length || length > FRAME_MOST_BYTES)
        return;
    h2o_http2_encode_frame_header(c->cut, length - come_n, H2O_HTTP2_FRAME_TYPE_DATA, flags,
                                  stream_id);
    c->cut[HEADER_BYTES] = header[9];
    c->cut_n = HEADER_BYTES + is_padded;
    h2o_http2_encode_frame_header(header, come_n, H2O_HTTP2_FRAME_TYPE_DATA, 0, stream_id);
    memmove(header + HEADER_BYTES, header + c->cut_n, come_n);
    input->size = at + HEADER_BYTES + come_n;
}

size_t frames_end_of_heads(const struct connection *c, unsigned heads_n)
{
    const uint8_t *input = (uint8_t *)c->socket->input->bytes;
    size_t size = c->socket->input->size, at = 0;
    while (at + HEADER_BYTES <= size) {
        if (input[at + 3] == H2O_HTTP2_FRAME_TYPE_HEADERS && heads_n-- == 0)
            return at;
        at += HEADER_BYTES + length_of(input + at);
    }
    return size;
}

/* libh2o knows this member of requests of HTTP/1 only; here it says that the client has reset the
 * stream while its answer was being written. */
static void mark_reset(h2o_http2_stream_t *stream)
{
    static char reset[] = "reset";
    if (stream->state >= H2O_HTTP2_STREAM_STATE_SEND_HEADERS)
        stream->req.upgrade = h2o_iovec_init(reset, sizeof reset - 1);
}

bool frames_have_reset(const h2o_req_t *h2o)
{
    return h2o->version >= 0x200 && h2o->upgrade.base != NULL;
}

uint32_t frames_stream_of(const h2o_req_t *h2o)
{
    return h2o->version < 0x200 ? 0 : container_of(h2o, h2o_http2_stream_t, req)->stream_id;
}

static void note_reset(struct connection *c, uint32_t stream_id)
{
    h2o_http2_stream_t *stream = h2o_http2_conn_get_stream(c->socket->data, stream_id);
    if (stream != NULL)
        mark_reset(stream);
    else if (c->on_reset != NULL && stream_id != 0)
        c->on_reset(c->on_reset_arg, c->number, stream_id);
}

void frames_note_resets(struct connection *c)
{
    const uint8_t *input = (uint8_t *)c->socket->input->bytes;
    size_t size = c->socket->input->size;
    for (size_t at = 0, end; at + HEADER_BYTES <= size; at = end) {
        end = at + HEADER_BYTES + length_of(input + at);
        if (end <= size && input[at + 3] == H2O_HTTP2_FRAME_TYPE_RST_STREAM)
            note_reset(c, h2o_http2_decode32u(input + at + 5) & 0x7fffffff);
    }
}
