/* SPDX-License-Identifier: MIT
 * websocket_pump.c - bytes of a socket in both directions (websocket_internal.h).
 *
 * libh2o's own wrapper around wslay is not used: it writes a frame's head and body one by one, each
 * waiting for the other, and reads on whatever waits to be written. Here libh2o gives the socket
 * away (h2o_http1_upgrade) and only says when it is readable. websocket_pump() moves bytes both
 * ways: what came goes from the socket into wslay's buffer, READ_BYTES at most in a pass of the
 * loop, or LITTLE_BYTES when that has no time left, and all that wslay has to say goes into one
 * buffer and out in one write.
 *
 * A close frame overtakes text that waits in wslay, so one that is ours waits until that is sent,
 * unless nobody reads it (WEBSOCKET_TRY_AGAIN). Closing a socket with bytes unread resets it, and
 * could take the close frame away again: after it we only shut down our side and drop what comes
 * until the peer has closed its own, or CLOSE_WAIT_MS (websocket.c). */
#include "shared/base/clock.h"
#include "shared/http/websocket/websocket_internal.h"
#include "shared/http/wire/connection.h"

enum {
    READ_BYTES = 64 << 10, /* of a socket in one pass of the loop */
    LITTLE_BYTES = 4 << 10,
    BYTES_A_US = 200, /* that wslay takes, about */
    SCRATCH_BYTES = 4 << 10
};

void websocket_count_queued(struct websocket *ws)
{
    size_t queued = wslay_event_get_queued_msg_length(ws->wslay) + ws->sending.cap;
    websocket_owner_count(ws, (ptrdiff_t)queued - (ptrdiff_t)ws->queued_bytes);
    ws->queued_bytes = queued;
}

void websocket_queue_close(struct websocket *ws)
{
    wslay_event_queue_close(ws->wslay, (uint16_t)ws->code, (const uint8_t *)ws->reason,
                            strlen(ws->reason));
}

/* --- in --------------------------------------------------------------------------------------- */

static void take_input(struct websocket *ws)
{
    char scratch[SCRATCH_BYTES];
    if (ws->slowed_ms != 0 && clock_mono_ms() >= ws->slowed_ms)
        ws->slowed_ms = 0;
    websocket_deliver_held(ws);
    if (wslay_event_want_read(ws->wslay) && !websocket_is_behind(ws) &&
        wslay_event_recv(ws->wslay) != 0)
        websocket_note_fault(ws);
    if (wslay_event_want_read(ws->wslay))
        return;
    websocket_begin_closing(ws); /* the peer closed, or sent what no peer may */
    while (websocket_read(ws, scratch, sizeof scratch) > 0)
        ;
}

static void on_readable(h2o_socket_t *socket, const char *error)
{
    struct websocket *ws = socket->data;
    if (error != NULL)
        websocket_end(ws);
    else
        websocket_pump(ws);
}

/* --- out -------------------------------------------------------------------------------------- */

static void on_written(h2o_socket_t *socket, const char *error)
{
    struct websocket *ws = socket->data;
    ws->is_writing = false;
    buf_fini(&ws->sending);
    if (error != NULL) {
        websocket_end(ws);
        return;
    }
    if (ws->state == WEBSOCKET_OPEN && ws->events->on_idle != NULL &&
        wslay_event_get_queued_msg_count(ws->wslay) == 0) {
        ws->is_pumping = true;
        ws->events->on_idle(ws, ws->arg);
    }
    websocket_pump(ws);
}

static bool give_output(struct websocket *ws)
{
    if (ws->is_writing)
        return true;
    if (wslay_event_want_write(ws->wslay) && wslay_event_send(ws->wslay) != 0)
        return false;
    if (ws->code != 0 && wslay_event_get_queued_msg_count(ws->wslay) == 0) {
        websocket_queue_close(ws);
        if (wslay_event_want_write(ws->wslay) && wslay_event_send(ws->wslay) != 0)
            return false;
    }
    if (ws->sending.n == 0)
        return true;
    ws->is_writing = true;
    ws->write_checks_n = 0;
    h2o_iovec_t bytes = h2o_iovec_init(ws->sending.at, ws->sending.n);
    h2o_socket_write(ws->socket, &bytes, 1, on_written);
    return true;
}

/* --- both ------------------------------------------------------------------------------------- */

static void read_or_wait(struct websocket *ws)
{
    bool wants = !ws->has_ended && !websocket_is_behind(ws);
    bool is_reading = h2o_socket_is_reading(ws->socket);
    if (is_reading && !wants)
        h2o_socket_read_stop(ws->socket);
    else if (!is_reading && wants)
        h2o_socket_read_start(ws->socket, on_readable);
    if (wants && connection_has_more(ws->socket))
        websocket_pump_after(ws, 0);
    if (ws->slowed_ms != 0) {
        uint64_t now_ms = clock_mono_ms();
        websocket_pump_after(ws, ws->slowed_ms > now_ms ? ws->slowed_ms - now_ms : 0);
    }
}

void websocket_pump(struct websocket *ws)
{
    struct passes *passes = &ws->server->loop->passes;
    ws->is_pumping = true;
    ws->is_dry = false;
    size_t most = passes_have_time(passes) ? READ_BYTES : LITTLE_BYTES;
    ws->read_left = most;
    take_input(ws);
    passes_use(passes, (most - ws->read_left) / BYTES_A_US);
    bool ok = give_output(ws);
    websocket_count_queued(ws);
    ws->is_pumping = false;
    if (!ok || (ws->has_ended && !ws->is_writing)) {
        websocket_end(ws);
        return;
    }
    if (ws->state < WEBSOCKET_LINGERING && !ws->is_writing &&
        wslay_event_get_close_sent(ws->wslay)) {
        websocket_move(ws, WEBSOCKET_LINGERING);
        connection_end_writing(ws->socket);
    }
    read_or_wait(ws);
}

void websocket_pump_after(struct websocket *ws, uint64_t after_ms)
{
    if (ws->state == WEBSOCKET_UPGRADING || ws->state == WEBSOCKET_GONE || ws->is_pumping)
        return;
    if (after_ms == 0 || !deadline_is_set(&ws->pump_soon))
        loop_set_deadline(ws->server->loop, &ws->pump_soon, after_ms);
}
