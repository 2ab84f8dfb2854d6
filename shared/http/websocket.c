/* SPDX-License-Identifier: MIT
 * websocket.c - see websocket.h.
 *
 * libh2o's own wrapper around wslay is not used: it writes a frame's head and body one by one, each
 * waiting for the other, and reads on whatever waits to be written. Here libh2o gives the socket
 * away (h2o_http1_upgrade), and pump() moves bytes both ways: all that came goes through wslay, all
 * that wslay has to say goes into one buffer and out in one write.
 *
 * Everything that ends a socket ends in gone(), which only the loop calls: from a socket's callback
 * or a deadline, never from inside wslay's callbacks or ours. Calls from outside queue and let the
 * next turn pump.
 *
 * A close frame overtakes text that waits in wslay, so one that is ours waits until that is sent,
 * unless nobody reads it (WEBSOCKET_TRY_AGAIN). Closing a socket with bytes unread resets it, and
 * could take the close frame away again: after it we only shut down our side and drop what comes
 * until the peer has closed its own, or CLOSE_WAIT_MS. */
#include "shared/http/websocket.h"

#include "shared/base/sm.h"
#include "shared/http/connection.h"
#include "shared/http/respond.h"
#include "shared/http/rights.h"
#include "shared/http/websocket_handshake.h"

#include <h2o/http1.h>
#include <stdio.h>
#include <stdlib.h>
#include <wslay/wslay.h>

enum {
    WRITE_MAX = 64 << 10,  /* one write */
    QUEUE_BYTES = 1 << 20, /* that may wait; plus one message */
    QUEUE_MESSAGES = 1024, /* the same in messages, however small */
    BEHIND_MESSAGES = 256, /* with so many waiting nothing more is read */
    PING_EVERY_MS = 30000,
    CLOSE_WAIT_MS = 5000
};

enum state { UPGRADING, OPEN, CLOSING, LINGERING, GONE };

static const struct sm_state states[] = {
    [UPGRADING] = {"UPGRADING", SM(OPEN) | SM(GONE)},
    [OPEN] = {"OPEN", SM(CLOSING) | SM(GONE)},
    [CLOSING] = {"CLOSING", SM(LINGERING) | SM(GONE)},
    [LINGERING] = {"LINGERING", SM(GONE)},
    [GONE] = {"GONE", 0},
};
static const struct sm sm = SM_OF("websocket", states);

struct websocket {
    struct websocket *previous, *next; /* of the server */
    struct server *server;
    const struct websocket_events *events;
    void *arg;
    enum state state;
    uint64_t number;      /* for the log of its states */
    h2o_socket_t *socket; /* NULL while UPGRADING */
    wslay_event_context_ptr wslay;
    const struct account *account;   /* NULL: of a provider's token */
    struct deadline expiry;          /* of its token */
    struct deadline pump_soon, look; /* look: for signs of life, or for the end of a close */
    struct buf sending;
    unsigned code; /* why we close it; 0: we do not */
    char reason[WEBSOCKET_REASON_MAX + 1];
    bool is_pumping, is_writing, was_heard;
};

static void pump(struct websocket *ws);

static void move(struct websocket *ws, enum state to)
{
    ws->state = sm_move(&sm, ws->number, ws->state, to);
}

/* --- the end ---------------------------------------------------------------------------------- */

static unsigned code_of(const struct websocket *ws)
{
    if (ws->code != 0)
        return ws->code;
    if (wslay_event_get_close_received(ws->wslay))
        return wslay_event_get_status_code_received(ws->wslay);
    if (wslay_event_get_close_sent(ws->wslay))
        return wslay_event_get_status_code_sent(ws->wslay);
    return WEBSOCKET_CUT_OFF;
}

static void gone(struct websocket *ws)
{
    struct server *server = ws->server;
    unsigned code = code_of(ws);
    move(ws, GONE); /* on_closed may still send, in vain */
    loop_cancel_deadline(server->loop, &ws->pump_soon);
    loop_cancel_deadline(server->loop, &ws->look);
    loop_cancel_deadline(server->loop, &ws->expiry);
    if (ws->previous != NULL)
        ws->previous->next = ws->next;
    else
        server->websockets.first = ws->next;
    if (ws->next != NULL)
        ws->next->previous = ws->previous;
    if (ws->socket != NULL)
        h2o_socket_close(ws->socket);
    server->websockets.open_n--;
    metrics_add(server->metrics, METRIC_WEBSOCKETS, -1);
    ws->events->on_closed(ws, ws->arg, code);
    wslay_event_context_free(ws->wslay);
    buf_fini(&ws->sending);
    free(ws);
}

static void begin_closing(struct websocket *ws)
{
    if (ws->state != OPEN)
        return;
    move(ws, CLOSING);
    loop_set_deadline(ws->server->loop, &ws->look, CLOSE_WAIT_MS);
}

static void queue_close(struct websocket *ws)
{
    wslay_event_queue_close(ws->wslay, (uint16_t)ws->code, (const uint8_t *)ws->reason,
                            strlen(ws->reason));
}

/* --- wslay's callbacks ------------------------------------------------------------------------ */

/* Answers to pings wait with the rest: a peer that sends them and reads nothing is not read. */
static bool is_behind(const struct websocket *ws)
{
    return !wslay_event_get_close_sent(ws->wslay) &&
           wslay_event_get_queued_msg_count(ws->wslay) >= BEHIND_MESSAGES;
}

static ssize_t on_wants_bytes(wslay_event_context_ptr wslay, uint8_t *bytes, size_t n, int flags,
                              void *arg)
{
    struct websocket *ws = arg;
    h2o_buffer_t *input = ws->socket->input;
    if (input->size == 0 || is_behind(ws)) {
        wslay_event_set_error(wslay, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    n = n < input->size ? n : input->size;
    memcpy(bytes, input->bytes, n);
    h2o_buffer_consume(&ws->socket->input, n);
    return (ssize_t)n;
}

static ssize_t on_has_bytes(wslay_event_context_ptr wslay, const uint8_t *bytes, size_t n,
                            int flags, void *arg)
{
    struct websocket *ws = arg;
    size_t room = ws->sending.max - ws->sending.n;
    if (room == 0) {
        wslay_event_set_error(wslay, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    n = n < room ? n : room;
    buf_put(&ws->sending, (struct str){(const char *)bytes, n});
    return (ssize_t)n;
}

static void on_frame(wslay_event_context_ptr wslay, const struct wslay_event_on_msg_recv_arg *frame,
                     void *arg)
{
    struct websocket *ws = arg;
    if (frame->opcode == WSLAY_CONNECTION_CLOSE)
        begin_closing(ws);
    if (ws->state != OPEN)
        return;
    if (frame->opcode == WSLAY_BINARY_FRAME)
        websocket_close(ws, WEBSOCKET_UNSUPPORTED, "Text messages only.");
    else if (frame->opcode == WSLAY_TEXT_FRAME)
        ws->events->on_message(
            ws, ws->arg,
            (struct str){frame->msg == NULL ? "" : (const char *)frame->msg, frame->msg_length});
}

/* --- moving bytes ----------------------------------------------------------------------------- */

static void on_written(h2o_socket_t *socket, const char *error)
{
    struct websocket *ws = socket->data;
    ws->is_writing = false;
    if (error != NULL) {
        gone(ws);
        return;
    }
    if (ws->state == OPEN && ws->events->on_idle != NULL &&
        wslay_event_get_queued_msg_count(ws->wslay) == 0) {
        ws->is_pumping = true;
        ws->events->on_idle(ws, ws->arg);
    }
    pump(ws);
}

static void on_readable(h2o_socket_t *socket, const char *error)
{
    struct websocket *ws = socket->data;
    ws->was_heard = true;
    if (error != NULL)
        gone(ws);
    else
        pump(ws);
}

static bool take_input(struct websocket *ws)
{
    while (ws->socket->input->size > 0 && wslay_event_want_read(ws->wslay) && !is_behind(ws))
        if (wslay_event_recv(ws->wslay) != 0)
            return false;
    if (!wslay_event_want_read(ws->wslay)) {
        begin_closing(ws); /* the peer closed, or sent what no peer may */
        h2o_buffer_consume(&ws->socket->input, ws->socket->input->size);
    }
    return true;
}

static bool give_output(struct websocket *ws)
{
    if (ws->is_writing)
        return true;
    buf_clear(&ws->sending);
    if (wslay_event_want_write(ws->wslay) && wslay_event_send(ws->wslay) != 0)
        return false;
    if (ws->code != 0 && wslay_event_get_queued_msg_count(ws->wslay) == 0) {
        queue_close(ws);
        if (wslay_event_want_write(ws->wslay) && wslay_event_send(ws->wslay) != 0)
            return false;
    }
    if (ws->sending.n == 0)
        return true;
    ws->is_writing = true;
    h2o_iovec_t bytes = h2o_iovec_init(ws->sending.at, ws->sending.n);
    h2o_socket_write(ws->socket, &bytes, 1, on_written);
    return true;
}

static void pump(struct websocket *ws)
{
    ws->is_pumping = true;
    bool ok = take_input(ws) && give_output(ws);
    ws->is_pumping = false;
    if (!ok) {
        gone(ws);
        return;
    }
    if (ws->state < LINGERING && !ws->is_writing && wslay_event_get_close_sent(ws->wslay)) {
        move(ws, LINGERING);
        shutdown(h2o_socket_get_fd(ws->socket), SHUT_WR);
    }
    bool is_reading = h2o_socket_is_reading(ws->socket);
    if (is_reading && is_behind(ws))
        h2o_socket_read_stop(ws->socket);
    else if (!is_reading && !is_behind(ws))
        h2o_socket_read_start(ws->socket, on_readable);
}

static void on_pump_soon(struct deadline *deadline)
{
    pump(H2O_STRUCT_FROM_MEMBER(struct websocket, pump_soon, deadline));
}

static void pump_soon(struct websocket *ws)
{
    if (ws->state != UPGRADING && !ws->is_pumping && !deadline_is_set(&ws->pump_soon))
        loop_set_deadline(ws->server->loop, &ws->pump_soon, 0);
}

static uint64_t ping_every_ms(const struct websocket *ws)
{
    return ws->events->ping_every_ms == 0 ? PING_EVERY_MS : ws->events->ping_every_ms;
}

static void on_look(struct deadline *deadline)
{
    struct websocket *ws = H2O_STRUCT_FROM_MEMBER(struct websocket, look, deadline);
    if (ws->state >= CLOSING || (ws->state == OPEN && !ws->was_heard)) {
        gone(ws);
        return;
    }
    loop_set_deadline(ws->server->loop, &ws->look, ping_every_ms(ws));
    if (ws->state == UPGRADING) /* the socket is still libh2o's, and so is its end */
        return;
    const struct wslay_event_msg ping = {.opcode = WSLAY_PING};
    ws->was_heard = false;
    wslay_event_queue_msg(ws->wslay, &ping);
    pump_soon(ws);
}

/* --- from outside ----------------------------------------------------------------------------- */

bool websocket_send(struct websocket *ws, struct str text)
{
    const struct wslay_event_msg message = {
        .opcode = WSLAY_TEXT_FRAME, .msg = (const uint8_t *)text.at, .msg_length = text.n};
    if (ws->state >= CLOSING || ws->code != 0)
        return false;
    if (wslay_event_get_queued_msg_length(ws->wslay) > QUEUE_BYTES ||
        wslay_event_get_queued_msg_count(ws->wslay) >= QUEUE_MESSAGES) {
        websocket_close(ws, WEBSOCKET_TRY_AGAIN, "Messages were not read in time.");
        queue_close(ws); /* at once, instead of what waits */
        return false;
    }
    if (wslay_event_queue_msg(ws->wslay, &message) != 0)
        return false;
    pump_soon(ws);
    return true;
}

void websocket_close(struct websocket *ws, unsigned code, const char *reason)
{
    if (ws->state >= CLOSING || ws->code != 0)
        return;
    ws->code = code;
    snprintf(ws->reason, sizeof ws->reason, "%s", reason);
    begin_closing(ws);
    pump_soon(ws);
}

void websocket_close_all(struct server *server)
{
    for (struct websocket *ws = server->websockets.first; ws != NULL; ws = ws->next)
        websocket_close(ws, WEBSOCKET_GOING_AWAY, "This node shuts down.");
}

static void close_revoked(struct websocket *ws)
{
    websocket_close(ws, WEBSOCKET_POLICY, err_info(ERR_REVOKED)->text);
}

void websocket_close_revoked(struct server *server, const struct accounts *accounts)
{
    for (struct websocket *ws = server->websockets.first; ws != NULL; ws = ws->next)
        if (ws->account != NULL && !account_keeps_right(accounts, ws->account))
            close_revoked(ws);
}

static void on_expiry(struct deadline *deadline)
{
    websocket_close(H2O_STRUCT_FROM_MEMBER(struct websocket, expiry, deadline), WEBSOCKET_POLICY,
                    err_info(ERR_TOKEN_EXPIRED)->text);
}

/* --- accepting ---------------------------------------------------------------------------- */

static void on_upgraded(void *arg, h2o_socket_t *socket, size_t request_n)
{
    struct websocket *ws = arg;
    if (socket == NULL) {
        gone(ws);
        return;
    }
    ws->socket = socket;
    socket->data = ws;
    h2o_buffer_consume(&socket->input, request_n);
    connection_give_away(socket);
    move(ws, OPEN);
    if (ws->code != 0)
        begin_closing(ws);
    pump(ws);
}

static void add_to_server(struct websocket *ws, struct server *server)
{
    ws->next = server->websockets.first;
    if (ws->next != NULL)
        ws->next->previous = ws;
    server->websockets.first = ws;
    server->websockets.open_n++;
    metrics_add(server->metrics, METRIC_WEBSOCKETS, 1);
}

struct websocket *websocket_accept(struct request *r, const struct websocket_events *events,
                                   void *arg)
{
    static const struct wslay_event_callbacks callbacks = {.recv_callback = on_wants_bytes,
                                                           .send_callback = on_has_bytes,
                                                           .on_msg_recv_callback = on_frame};
    struct str key = {NULL, 0};
    if (!handshake_check(r, &key))
        return NULL;
    struct websocket *ws = malloc(sizeof *ws);
    if (ws == NULL)
        abort();
    *ws = (struct websocket){.server = r->server,
                             .number = sm_number(),
                             .events = events,
                             .arg = arg,
                             .account = r->identity == NULL ? r->account : NULL,
                             .expiry.on_expire = on_expiry,
                             .pump_soon.on_expire = on_pump_soon,
                             .look.on_expire = on_look,
                             .sending.max = WRITE_MAX,
                             .was_heard = true};
    if (wslay_event_context_server_init(&ws->wslay, &callbacks, ws) != 0)
        abort();
    size_t most = events->message_max_bytes;
    wslay_event_config_set_max_recv_msg_length(ws->wslay,
                                               most == 0 ? WEBSOCKET_MESSAGE_BYTES : most);
    add_to_server(ws, r->server);
    loop_set_deadline(r->server->loop, &ws->look, ping_every_ms(ws));
    handshake_put_accept(r, key);
    respond_start_upgrade(r);
    h2o_http1_upgrade(r->h2o, NULL, 0, on_upgraded, ws);
    if (r->expires_s > 0)
        loop_set_deadline(r->server->loop, &ws->expiry, rights_left_ms(r->expires_s));
    if (r->revoked != ERR_OK)
        close_revoked(ws);
    return ws;
}
