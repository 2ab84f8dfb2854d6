/* SPDX-License-Identifier: MIT
 * websocket.c - the life of a socket (websocket.h); websocket_pump.c moves its bytes.
 *
 * Everything that ends a socket ends in websocket_end(), which only the loop calls: from a socket's
 * callback or a deadline, never from inside wslay's callbacks or ours. Calls from outside queue and
 * let the next pass pump. */
#include "shared/auth/token.h"
#include "shared/base/clock.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"
#include "shared/http/request/respond.h"
#include "shared/http/websocket/websocket_handshake.h"
#include "shared/http/websocket/websocket_internal.h"
#include "shared/http/wire/connection.h"

#include <stdio.h>

enum {
    WRITE_MAX = 64 << 10,  /* one write */
    QUEUE_BYTES = 1 << 20, /* that may wait; plus one message */
    QUEUE_MESSAGES = 1024, /* the same in messages, however small */
    HELD_SLACK_BYTES = 8 << 10,
    PING_EVERY_MS = 20000,
    WRITE_CHECKS = 2, /* a write that takes more is cut off */
    CLOSE_WAIT_MS = 5000,
    SHARE_RETRY_S = 5 /* until an account that has its share of sockets may ask again */
};

static const struct sm_state states[] = {
    [WEBSOCKET_UPGRADING] = {"UPGRADING", SM(WEBSOCKET_OPEN) | SM(WEBSOCKET_GONE)},
    [WEBSOCKET_OPEN] = {"OPEN", SM(WEBSOCKET_CLOSING) | SM(WEBSOCKET_GONE)},
    [WEBSOCKET_CLOSING] = {"CLOSING", SM(WEBSOCKET_LINGERING) | SM(WEBSOCKET_GONE)},
    [WEBSOCKET_LINGERING] = {"LINGERING", SM(WEBSOCKET_GONE)},
    [WEBSOCKET_GONE] = {"GONE", 0},
};
static const struct sm sm = SM_OF("websocket", states);

void websocket_move(struct websocket *ws, enum websocket_state to)
{
    ws->state = sm_move(&sm, ws->number, ws->state, to);
}

struct websockets *websockets_create(void)
{
    struct websockets *websockets = mem_zeroed(sizeof *websockets);
    return websockets;
}

void websockets_destroy(struct websockets *websockets)
{
    free(websockets);
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

static void take_from_server(struct websocket *ws)
{
    struct server *server = ws->server;
    list_remove(&ws->link);
    server->websockets->open_n--;
    websocket_owner_count(ws, -(ptrdiff_t)ws->queued_bytes);
    websocket_owner_leave(server, ws->owner);
    metrics_add(server->metrics, METRIC_WEBSOCKETS, -1);
}

void websocket_end(struct websocket *ws)
{
    struct loop *loop = ws->server->loop;
    unsigned code = code_of(ws);
    websocket_move(ws, WEBSOCKET_GONE); /* on_closed may still send, in vain */
    loop_cancel_deadline(loop, &ws->pump_soon);
    loop_cancel_deadline(loop, &ws->check);
    loop_cancel_deadline(loop, &ws->expiry);
    take_from_server(ws);
    if (ws->socket != NULL)
        h2o_socket_close(ws->socket);
    ws->events->on_closed(ws, ws->arg, code);
    wslay_event_context_free(ws->wslay);
    buf_fini(&ws->message);
    buf_fini(&ws->held);
    buf_fini(&ws->sending);
    free(ws->reason);
    free(ws);
}

void websocket_begin_closing(struct websocket *ws)
{
    if (ws->state != WEBSOCKET_OPEN)
        return;
    websocket_move(ws, WEBSOCKET_CLOSING);
    loop_set_deadline(ws->server->loop, &ws->check, CLOSE_WAIT_MS);
}

void websocket_note_fault(struct websocket *ws)
{
    if (ws->code != 0)
        return;
    ws->code = WSLAY_CODE_PROTOCOL_ERROR;
    ws->reason = str_copy(STR(""));
    websocket_begin_closing(ws);
}

/* --- signs of life ---------------------------------------------------------------------------- */

static void on_pump_soon(struct deadline *deadline)
{
    websocket_pump(container_of(deadline, struct websocket, pump_soon));
}

static uint64_t ping_every_ms(const struct websocket *ws)
{
    return ws->events->ping_every_ms == 0 ? PING_EVERY_MS : ws->events->ping_every_ms;
}

/* A socket that is paused is not read, and so not heard. */
static bool is_lost(const struct websocket *ws)
{
    if (ws->state >= WEBSOCKET_CLOSING)
        return true;
    if (ws->is_writing && ws->write_checks_n >= WRITE_CHECKS)
        return true;
    return ws->state == WEBSOCKET_OPEN && !ws->was_heard && !websocket_is_behind(ws);
}

static void on_check(struct deadline *deadline)
{
    struct websocket *ws = container_of(deadline, struct websocket, check);
    if (is_lost(ws)) {
        websocket_end(ws);
        return;
    }
    loop_set_deadline(ws->server->loop, &ws->check, ping_every_ms(ws));
    if (ws->state == WEBSOCKET_UPGRADING) /* the socket is still libh2o's, and so is its end */
        return;
    if (ws->message_end_ms != 0 && clock_mono_ms() >= ws->message_end_ms) {
        websocket_close(ws, WEBSOCKET_POLICY, "A message took too long.");
        return;
    }
    const struct wslay_event_msg ping = {.opcode = WSLAY_PING};
    ws->was_heard = false;
    ws->write_checks_n++;
    wslay_event_queue_msg(ws->wslay, &ping);
    websocket_pump_after(ws, 0);
}

/* --- from outside ----------------------------------------------------------------------------- */

static bool has_room(const struct websocket *ws)
{
    enum websocket_capacity capacity = websocket_owner_capacity(ws);
    size_t queue = ws->events->queue_max_bytes == 0 ? QUEUE_BYTES : ws->events->queue_max_bytes;
    size_t most = capacity == WEBSOCKET_CAPACITY ? queue : 0;
    return capacity != WEBSOCKET_NO_CAPACITY &&
           wslay_event_get_queued_msg_length(ws->wslay) <= most &&
           wslay_event_get_queued_msg_count(ws->wslay) < QUEUE_MESSAGES;
}

bool websocket_is_open(const struct websocket *ws)
{
    return ws->state < WEBSOCKET_CLOSING && ws->code == 0;
}

bool websocket_send(struct websocket *ws, struct str text)
{
    const struct wslay_event_msg message = {
        .opcode = WSLAY_TEXT_FRAME, .msg = (const uint8_t *)text.at, .msg_length = text.n};
    if (!websocket_is_open(ws))
        return false;
    if (!has_room(ws)) {
        websocket_close(ws, WEBSOCKET_TRY_AGAIN,
                        "Messages were not read in time: the connection is closed.");
        websocket_queue_close(ws); /* at once, instead of what waits */
        return false;
    }
    if (wslay_event_queue_msg(ws->wslay, &message) != 0)
        return false;
    websocket_count_queued(ws);
    websocket_pump_after(ws, 0);
    return true;
}

void websocket_pause(struct websocket *ws)
{
    ws->is_paused = true;
}

void websocket_resume(struct websocket *ws)
{
    ws->is_paused = false;
    ws->was_heard = true; /* it was not listened to */
    websocket_pump_after(ws, 0);
}

void websocket_close(struct websocket *ws, unsigned code, const char *reason)
{
    if (!websocket_is_open(ws))
        return;
    struct str text = str_of(reason);
    ws->code = code;
    ws->reason = str_copy((struct str){
        text.at, text.n < WEBSOCKET_REASON_MAX ? text.n : (size_t)WEBSOCKET_REASON_MAX});
    websocket_begin_closing(ws);
    websocket_pump_after(ws, 0);
}

void websocket_drain(struct server *server, bool is_over)
{
    list_for_each (struct websocket, ws, &server->websockets->list, link)
        if (is_over || ws->events->is_busy == NULL || !ws->events->is_busy(ws, ws->arg))
            websocket_close(ws, WEBSOCKET_GOING_AWAY, "This node is shutting down.");
}

static void close_revoked(struct websocket *ws)
{
    websocket_close(ws, WEBSOCKET_POLICY, err_info(ERR_REVOKED)->text);
}

void websocket_close_revoked(struct server *server, const struct accounts *accounts)
{
    list_for_each (struct websocket, ws, &server->websockets->list, link)
        if (ws->account != NULL && !account_keeps_right(accounts, ws->account))
            close_revoked(ws);
}

static void on_expiry(struct deadline *deadline)
{
    websocket_close(container_of(deadline, struct websocket, expiry), WEBSOCKET_POLICY,
                    err_info(ERR_TOKEN_EXPIRED)->text);
}

/* --- accepting ---------------------------------------------------------------------------- */

static void on_upgraded(void *arg, h2o_socket_t *socket, size_t request_n)
{
    struct websocket *ws = arg;
    if (socket == NULL) {
        websocket_end(ws);
        return;
    }
    ws->socket = socket;
    socket->data = ws;
    h2o_buffer_consume(&socket->input, request_n);
    connection_give_away(socket);
    websocket_drop_empty_input(ws);
    websocket_move(ws, WEBSOCKET_OPEN);
    if (ws->code != 0)
        websocket_begin_closing(ws);
    websocket_pump(ws);
}

static void add_to_server(struct websocket *ws, struct server *server)
{
    list_prepend(&server->websockets->list, &ws->link);
    server->websockets->open_n++;
    metrics_add(server->metrics, METRIC_WEBSOCKETS, 1);
}

static struct websocket *create(struct request *r, const struct websocket_events *events, void *arg)
{
    struct websocket *ws = mem_alloc(sizeof *ws);
    size_t most =
        events->message_max_bytes == 0 ? WEBSOCKET_MESSAGE_BYTES : events->message_max_bytes;
    *ws = (struct websocket){.server = r->server,
                             .number = sm_number(),
                             .events = events,
                             .arg = arg,
                             .account = r->identity == NULL ? r->account : NULL,
                             .is_authenticated = r->account != NULL,
                             .expiry.on_expire = on_expiry,
                             .pump_soon.on_expire = on_pump_soon,
                             .check.on_expire = on_check,
                             .message.max = most,
                             .held.max = most + HELD_SLACK_BYTES,
                             .sending.max = WRITE_MAX,
                             .was_heard = true};
    if (wslay_event_context_server_init(&ws->wslay, &websocket_callbacks, ws) != 0)
        abort();
    wslay_event_config_set_max_recv_msg_length(ws->wslay, most);
    wslay_event_config_set_no_buffering(ws->wslay, 1);
    return ws;
}

static void refuse_owner(struct request *r)
{
    char detail[192];
    const char *who = r->account == NULL ? "address" : r->identity == NULL ? "account" : "user";
    snprintf(
        detail, sizeof detail,
        "This %s has %zu WebSockets open at this thread of the node, which is its share: close "
        "some, or connect to another node.",
        who, websocket_owner_share(r->server));
    respond_error_more(r, ERR_RATE_LIMITED, detail, NULL, SHARE_RETRY_S);
}

struct websocket *websocket_accept(struct request *r, const struct websocket_events *events,
                                   void *arg)
{
    struct str key = {NULL, 0};
    if (!handshake_check(r, &key))
        return NULL;
    struct websocket_owner *owner = websocket_owner_enter(r);
    if (owner == NULL) {
        refuse_owner(r);
        return NULL;
    }
    struct websocket *ws = create(r, events, arg);
    ws->owner = owner;
    add_to_server(ws, r->server);
    loop_set_deadline(r->server->loop, &ws->check, ping_every_ms(ws));
    handshake_put_accept(r, key);
    respond_start_upgrade(r);
    connection_upgrade(&r->exchange, on_upgraded, ws);
    if (r->expires_s > 0)
        loop_set_deadline(r->server->loop, &ws->expiry, token_left_ms(r->expires_s));
    if (r->revoked != ERR_OK)
        close_revoked(ws);
    return ws;
}
