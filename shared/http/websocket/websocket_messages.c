/* SPDX-License-Identifier: MIT
 * websocket_messages.c - frames that wslay reads become messages (websocket_internal.h).
 *
 * wslay keeps each fragment of a message in two pieces of memory of its own, so that 256 KiB in
 * fragments of one byte would take 20 MiB. It is set not to keep them: they are joined here, in
 * one buffer that grows with what came and counts like a request's body (connection_charge), with
 * what is held and what its owner has not done yet.
 *
 * A message that its owner does not want yet (websocket_pause), that is too early for its account's
 * rate, or too long for what is left of the pass, is held. There are few of them: nothing is read
 * meanwhile, and wslay has at most one read of 4 KiB in hand. */
#include "shared/base/clock.h"
#include "shared/http/access/admit.h"
#include "shared/http/access/gate.h"
#include "shared/http/access/rates.h"
#include "shared/http/websocket/websocket_internal.h"
#include "shared/http/wire/connection_internal.h"

#include <errno.h>

enum {
    SLOWED_MS = 100,
    MESSAGE_WITHIN_MS = 60000,
    LONG_BYTES = 16 << 10, /* a message whose reading takes a millisecond or more */
    BEHIND_MESSAGES = 256  /* with so many waiting nothing more is read */
};

/* --- receiving -------------------------------------------------------------------------------- */

/* If it does not fit, what was charged before stays. */
static bool charge(struct websocket *ws)
{
    size_t bytes = ws->message.cap + ws->held.cap + ws->owner_bytes;
    return connection_charge(connection_of(ws->socket), bytes > ADMIT_UNASKED_BYTES ? bytes : 0,
                             ws->is_authenticated);
}

bool websocket_hold(struct websocket *ws, size_t bytes)
{
    ws->owner_bytes = bytes;
    return !websocket_is_open(ws) || ws->socket == NULL || charge(ws);
}

void websocket_drop_message(struct websocket *ws)
{
    size_t had = ws->message.cap;
    buf_fini(&ws->message);
    ws->message_end_ms = 0;
    if (had > ADMIT_UNASKED_BYTES)
        (void)!charge(ws);
}

static void on_frame_start(wslay_event_context_ptr wslay,
                           const struct wslay_event_on_frame_recv_start_arg *frame, void *arg)
{
    struct websocket *ws = arg;
    uint64_t within_ms = ws->events->message_within_ms;
    (void)wslay;
    ws->is_control = wslay_is_ctrl_frame(frame->opcode);
    /* wslay looks at the length of each frame, not at their sum. */
    if (!ws->is_control && frame->payload_length > ws->message.max - ws->message.n)
        websocket_close(ws, WEBSOCKET_TOO_BIG, "The message is too large.");
    if (!ws->is_control && ws->message_end_ms == 0)
        ws->message_end_ms = clock_mono_ms() + (within_ms == 0 ? MESSAGE_WITHIN_MS : within_ms);
}

static void on_frame_bytes(wslay_event_context_ptr wslay,
                           const struct wslay_event_on_frame_recv_chunk_arg *piece, void *arg)
{
    struct websocket *ws = arg;
    (void)wslay;
    if (ws->is_control || ws->state != WEBSOCKET_OPEN || ws->code != 0)
        return;
    buf_put(&ws->message, (struct str){(const char *)piece->data, piece->data_length});
    if (ws->message.cap > ADMIT_UNASKED_BYTES && !charge(ws))
        websocket_close(ws, WEBSOCKET_TRY_AGAIN,
                        "This node is busy with other large messages: try again later.");
}

/* --- delivering ------------------------------------------------------------------------------- */

/* Many long messages that came at once are read in several passes of the loop. */
static bool has_time(struct websocket *ws, struct str text)
{
    if (text.n <= LONG_BYTES || passes_have_time(&ws->server->loop->passes))
        return true;
    ws->slowed_ms = clock_mono_ms() + 1;
    return false;
}

static bool is_admitted(struct websocket *ws, struct str text)
{
    unsigned retry_s;
    if (!has_time(ws, text))
        return false;
    if (ws->account == NULL || ws->server->gate->rates == NULL ||
        rates_admit(ws->server->gate->rates, ws->account, false, false, &retry_s) == RATES_ADMITTED)
        return true;
    ws->slowed_ms = clock_mono_ms() + SLOWED_MS;
    return false;
}

static bool is_stopped(const struct websocket *ws)
{
    return ws->is_paused || ws->slowed_ms != 0;
}

static void deliver(struct websocket *ws, struct str text)
{
    struct passes *passes = &ws->server->loop->passes;
    uint64_t began_us = text.n > LONG_BYTES ? clock_thread_us() : 0;
    ws->events->on_message(ws, ws->arg, text);
    if (text.n > LONG_BYTES)
        passes_use(passes, clock_thread_us() - began_us);
}

void websocket_deliver_held(struct websocket *ws)
{
    uint32_t n;
    while (ws->held_at < ws->held.n && ws->state == WEBSOCKET_OPEN && !is_stopped(ws)) {
        memcpy(&n, ws->held.at + ws->held_at, sizeof n);
        struct str text = {ws->held.at + ws->held_at + sizeof n, n};
        if (!is_admitted(ws, text))
            break;
        ws->held_at += sizeof n + n;
        deliver(ws, text);
    }
    if (ws->held_at < ws->held.n && ws->state == WEBSOCKET_OPEN)
        return;
    size_t had = ws->held.cap;
    buf_fini(&ws->held);
    ws->held_at = 0;
    if (had > ADMIT_UNASKED_BYTES)
        (void)!charge(ws);
}

static void hold(struct websocket *ws, struct str text)
{
    uint32_t n = (uint32_t)text.n;
    buf_put(&ws->held, (struct str){(const char *)&n, sizeof n});
    buf_put(&ws->held, text);
    if (ws->held.is_over)
        abort(); /* wslay had more in hand than one read */
}

static void on_text(struct websocket *ws)
{
    struct str text = ws->message.n == 0 ? STR("") : buf_str(&ws->message);
    if (is_stopped(ws) || ws->held.n > 0 || !is_admitted(ws, text))
        hold(ws, text);
    else
        deliver(ws, text);
}

static void on_frame(wslay_event_context_ptr wslay, const struct wslay_event_on_msg_recv_arg *frame,
                     void *arg)
{
    struct websocket *ws = arg;
    (void)wslay;
    if (frame->opcode == WSLAY_CONNECTION_CLOSE && frame->msg_length == 1)
        websocket_note_fault(ws); /* half a code */
    else if (frame->opcode == WSLAY_CONNECTION_CLOSE)
        websocket_begin_closing(ws);
    else if (ws->state == WEBSOCKET_OPEN && frame->opcode == WSLAY_BINARY_FRAME)
        websocket_close(ws, WEBSOCKET_UNSUPPORTED, "Text messages only.");
    else if (ws->state == WEBSOCKET_OPEN && frame->opcode == WSLAY_TEXT_FRAME)
        on_text(ws);
    if (!wslay_is_ctrl_frame(frame->opcode))
        websocket_drop_message(ws);
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* Answers to pings wait with the rest: a peer that sends them and reads nothing is not read. */
bool websocket_is_behind(const struct websocket *ws)
{
    if (ws->state == WEBSOCKET_OPEN && (ws->is_paused || ws->slowed_ms != 0 || ws->held.n > 0))
        return true;
    return !wslay_event_get_close_sent(ws->wslay) &&
           wslay_event_get_queued_msg_count(ws->wslay) >= BEHIND_MESSAGES;
}

void websocket_drop_empty_input(struct websocket *ws)
{
    h2o_buffer_t **input = &ws->socket->input;
    if ((*input)->size > 0)
        return;
    h2o_buffer_dispose(input);
    h2o_buffer_init(input, &h2o_socket_buffer_prototype);
}

ssize_t websocket_read(struct websocket *ws, void *bytes, size_t n)
{
    h2o_buffer_t *input = ws->socket->input;
    if (input->size > 0) {
        n = n < input->size ? n : input->size;
        memcpy(bytes, input->bytes, n);
        h2o_buffer_consume(&ws->socket->input, n);
        websocket_drop_empty_input(ws);
        return (ssize_t)n;
    }
    if (ws->is_dry || ws->has_ended || ws->read_left == 0)
        return 0;
    n = n < ws->read_left ? n : ws->read_left;
    ssize_t got = connection_receive(ws->socket, bytes, n);
    if (got > 0) {
        ws->was_heard = true;
        ws->read_left -= (size_t)got;
        ws->is_dry = (size_t)got < n;
        return got;
    }
    ws->is_dry = true;
    ws->has_ended = got == 0 || (errno != EAGAIN && errno != EINTR);
    return 0;
}

/* Gives what came along with the handshake first, then from the socket into wslay's own buffer. */
static ssize_t on_wants_bytes(wslay_event_context_ptr wslay, uint8_t *bytes, size_t n, int flags,
                              void *arg)
{
    struct websocket *ws = arg;
    (void)flags;
    ssize_t got = websocket_is_behind(ws) ? 0 : websocket_read(ws, bytes, n);
    if (got > 0)
        return got;
    wslay_event_set_error(wslay, WSLAY_ERR_WOULDBLOCK);
    return -1;
}

/* wslay closes after a frame that it cannot read without saying why: the code is put in here. An
 * owner may not close with that code, and a text never has these two bytes. */
static ssize_t on_has_bytes(wslay_event_context_ptr wslay, const uint8_t *bytes, size_t n,
                            int flags, void *arg)
{
    struct websocket *ws = arg;
    static const uint8_t bare_close[] = {0x88, 0}, fault[] = {0x88, 2, 0x03, 0xea};
    size_t room = ws->sending.max - ws->sending.n;
    (void)flags;
    if (ws->code == WSLAY_CODE_PROTOCOL_ERROR && n == sizeof bare_close &&
        memcmp(bytes, bare_close, n) == 0 && room >= sizeof fault) {
        buf_put(&ws->sending, (struct str){(const char *)fault, sizeof fault});
        return (ssize_t)n;
    }
    if (room == 0) {
        wslay_event_set_error(wslay, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    n = n < room ? n : room;
    buf_put(&ws->sending, (struct str){(const char *)bytes, n});
    return (ssize_t)n;
}

const struct wslay_event_callbacks websocket_callbacks = {
    .recv_callback = on_wants_bytes,
    .send_callback = on_has_bytes,
    .on_frame_recv_start_callback = on_frame_start,
    .on_frame_recv_chunk_callback = on_frame_bytes,
    .on_msg_recv_callback = on_frame,
};
