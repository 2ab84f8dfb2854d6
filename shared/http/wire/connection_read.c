/* SPDX-License-Identifier: MIT
 * connection_read.c - reads a bounded amount at a time, and makes room for it
 * (connection_internal.h). */
#include "shared/http/wire/connection_internal.h"

#include <errno.h>

enum {
    READ_BYTES = 16 << 10,
    READ_STREAMS_BYTES = 6 << 10,
    READ_AUTHENTICATED_BYTES = 256 << 10,
    BYTES_A_US = 200 /* that are read, about: the kernel copies them into pages that are new */
};

/* A body in chunks, whose length shows as it comes. Past its end libh2o is made to answer 413 by
 * itself, which the filter of the server words; its limit is this thread's own. */
void connection_take_chunks(struct connection *c)
{
    struct connections *all = c->all;
    size_t size = c->socket->input->size;
    bool is_busy = size - c->head_n > ADMIT_UNASKED_BYTES &&
                   !connection_charge(c, size - c->head_n, c->is_body_authenticated);
    if (!is_busy && size - c->socket->bytes_read <= c->most_n) {
        (void)!connection_pass(c, NULL);
        return;
    }
    size_t *most = &all->wire->h2o_config.max_request_entity_size, usual = *most;
    *most = 0;
    connection_pass_refused(c, connection_refusal(is_busy ? ERR_BUSY : ERR_OK, NULL));
    *most = usual;
}

/* A body that fills its room up to the last byte is too large, and known to be so. */
static size_t streams_at_once(const struct connection *c)
{
    if (c->room_left >= READ_STREAMS_BYTES)
        return READ_STREAMS_BYTES;
    return c->room_left > CONNECTION_READ_LEAST_BYTES ? c->room_left : CONNECTION_READ_LEAST_BYTES;
}

/* Many large bodies that come at once are read on in smaller parts when a pass has no time left. */
static size_t large_at_once(const struct connection *c)
{
    return passes_have_time(&c->all->wire->loop->passes) ? READ_AUTHENTICATED_BYTES : READ_BYTES;
}

static size_t most_at_once(const struct connection *c)
{
    size_t most = c->is_body_authenticated ? large_at_once(c) : READ_BYTES;
    size_t size = c->socket->input->size;
    switch (c->state) {
    case CONNECTION_BODY: return c->most_n - size < most ? c->most_n - size : most;
    case CONNECTION_CHUNKS: return most;
    case CONNECTION_HTTP2: return c->is_body_authenticated ? large_at_once(c) : streams_at_once(c);
    default: return READ_BYTES;
    }
}

bool connection_read(struct connection *c, const char **error)
{
    h2o_socket_t *socket = c->socket;
    size_t most = most_at_once(c);
    if (c->state == CONNECTION_CHUNKS && !c->is_body_authenticated &&
        socket->input->size > CONNECTION_GROWING_BYTES)
        connection_make_room(&socket->input, c->most_n + CONNECTION_READ_LEAST_BYTES);
    h2o_iovec_t room = h2o_buffer_reserve(
        &socket->input,
        c->cut_n + (most < CONNECTION_READ_LEAST_BYTES ? most : CONNECTION_READ_LEAST_BYTES));
    if (room.base == NULL) {
        *error = h2o_socket_error_out_of_memory;
        return true;
    }
    size_t fits_n = room.len - c->cut_n;
    ssize_t n = connection_receive(socket, room.base + c->cut_n, most < fits_n ? most : fits_n);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    socket->bytes_read = n > 0 ? (size_t)n : 0;
    passes_use(&c->all->wire->loop->passes, socket->bytes_read / BYTES_A_US);
    if (n < 0 && c->on_reset != NULL)
        c->on_reset(c->on_reset_arg, c->number, 0);
    if (n <= 0) {
        *error = n == 0 ? h2o_socket_error_closed : h2o_socket_error_io;
        return true;
    }
    memcpy(room.base, c->cut, c->cut_n);
    socket->input->size += c->cut_n + socket->bytes_read;
    c->cut_n = 0;
    return true;
}
