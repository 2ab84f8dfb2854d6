/* SPDX-License-Identifier: MIT
 * socket.c - see socket.h. */
#include "services/bench/socket.h"

#include <openssl/rand.h>

enum { FRAME_MAX_BYTES = 8 << 20 };

/* --- frames that came ------------------------------------------------------------------------- */

/* The raw value of a member, "" if there is none. */
static struct str member(struct str json, const char *name)
{
    struct str value;
    return bench_json_member(json, str_of(name), &value) ? value : STR("");
}

static void take_reply(struct bench_socket *socket, struct str json)
{
    uint64_t status = 0;
    struct bench_socket_reply reply = {
        .to = member(json, "To"), .lease = member(json, "Lease"), .body = member(json, "Body")};
    if (!str_parse_u64(member(json, "Status"), &status))
        status = 0;
    reply.status = (int)status;
    if (reply.status != 200)
        bench_fault(socket->faults, "a frame %.*s was answered %d %.*s", STR_ARG(reply.to),
                    reply.status, STR_ARG(bench_body_detail(reply.body)));
    if (socket->events->on_reply != NULL)
        socket->events->on_reply(socket, &reply);
}

static void take_stored(struct bench_socket *socket, struct str json)
{
    uint64_t next;
    if (socket->events->on_stored != NULL && str_parse_u64(member(json, "Next"), &next))
        socket->events->on_stored(socket, member(json, "Lease"), next);
}

static void take_frame(struct bench_socket *socket, struct str json)
{
    struct str type = member(json, "Type");
    if (str_eq(type, STR("\"stored\"")))
        take_stored(socket, json);
    else if (str_eq(type, STR("\"reply\"")))
        take_reply(socket, json);
    else if (str_eq(type, STR("\"claim\"")))
        socket->events->on_claim(socket, member(json, "Body"));
    else
        bench_fault(socket->faults, "a frame was refused: %.*s", STR_ARG(bench_body_detail(json)));
}

/* --- wslay ------------------------------------------------------------------------------------ */

static ssize_t on_wants_bytes(wslay_event_context_ptr wslay, uint8_t *bytes, size_t n, int flags,
                              void *arg)
{
    struct str *input = &((struct bench_socket *)arg)->input;
    (void)flags;
    if (input->n == 0) {
        wslay_event_set_error(wslay, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    n = n < input->n ? n : input->n;
    memcpy(bytes, input->at, n);
    *input = (struct str){input->at + n, input->n - n};
    return (ssize_t)n;
}

static ssize_t on_has_bytes(wslay_event_context_ptr wslay, const uint8_t *bytes, size_t n,
                            int flags, void *arg)
{
    struct bench_socket *socket = arg;
    (void)flags;
    size_t sent = bench_conn_push(&socket->worker.conn, bytes, n);
    if (sent > 0 || n == 0)
        return (ssize_t)sent;
    wslay_event_set_error(wslay, WSLAY_ERR_WOULDBLOCK);
    return -1;
}

static int on_mask(wslay_event_context_ptr wslay, uint8_t *bytes, size_t n, void *arg)
{
    (void)wslay, (void)arg;
    return RAND_bytes(bytes, (int)n) == 1 ? 0 : -1;
}

static void on_message(wslay_event_context_ptr wslay,
                       const struct wslay_event_on_msg_recv_arg *message, void *arg)
{
    (void)wslay;
    if (message->opcode == WSLAY_TEXT_FRAME && message->msg != NULL)
        take_frame(arg, (struct str){(const char *)message->msg, message->msg_length});
}

/* Forgets what a lost connection had under way. */
static void begin_wslay(struct bench_socket *socket)
{
    static const struct wslay_event_callbacks callbacks = {.recv_callback = on_wants_bytes,
                                                           .send_callback = on_has_bytes,
                                                           .genmask_callback = on_mask,
                                                           .on_msg_recv_callback = on_message};
    wslay_event_context_free(socket->wslay);
    if (wslay_event_context_client_init(&socket->wslay, &callbacks, socket) != 0)
        abort();
    wslay_event_config_set_max_recv_msg_length(socket->wslay, BENCH_BODY_MAX_BYTES);
}

/* --- its connection --------------------------------------------------------------------------- */

static void on_switched(struct bench_conn *conn)
{
    struct bench_socket *socket = (struct bench_socket *)conn;
    begin_wslay(socket);
    if (socket->events->on_open != NULL)
        socket->events->on_open(socket);
}

static bool on_bytes(struct bench_conn *conn, struct str bytes)
{
    struct bench_socket *socket = (struct bench_socket *)conn;
    socket->input = bytes;
    return wslay_event_recv(socket->wslay) == 0 && wslay_event_send(socket->wslay) == 0;
}

static void on_writable(struct bench_conn *conn)
{
    struct bench_socket *socket = (struct bench_socket *)conn;
    if (wslay_event_send(socket->wslay) == 0 && bench_socket_is_writable(socket) &&
        socket->events->on_writable != NULL)
        socket->events->on_writable(socket);
}

/* No socket: for now, or for good. */
static void on_response(struct bench_conn *conn, const struct bench_response *response)
{
    struct bench_socket *socket = (struct bench_socket *)conn;
    switch (bench_worker_judge(&socket->worker, response, socket->faults)) {
    case BENCH_GOOD: bench_fault(socket->faults, "/ws/engine answered 200, not 101"); break;
    case BENCH_ABANDON: break;
    case BENCH_AGAIN:
    case BENCH_FATAL: return;
    }
    socket->faults->is_fatal = conn->loop->is_stopped = true;
}

static void on_again(struct bench_conn *conn)
{
    bench_worker_repeat((struct bench_worker *)conn);
}

static const struct bench_conn_handler handler = {.on_response = on_response,
                                                  .on_again = on_again,
                                                  .on_switched = on_switched,
                                                  .on_bytes = on_bytes,
                                                  .on_writable = on_writable};

void bench_socket_init(struct bench_socket *socket, const struct bench *bench, void *owner,
                       struct bench_conn_loop *loop, const struct bench_target *target,
                       unsigned slots, const struct bench_socket_events *events,
                       struct bench_faults *faults)
{
    *socket = (struct bench_socket){.events = events, .faults = faults, .slots = slots};
    bench_worker_init(&socket->worker, bench, owner, loop, target, &handler);
    buf_init(&socket->frame, FRAME_MAX_BYTES);
}

void bench_socket_fini(struct bench_socket *socket)
{
    wslay_event_context_free(socket->wslay);
    bench_worker_fini(&socket->worker);
    buf_fini(&socket->frame);
}

void bench_socket_open(struct bench_socket *socket)
{
    bench_worker_socket(&socket->worker, socket->slots);
}

bool bench_socket_is_writable(const struct bench_socket *socket)
{
    return socket->worker.conn.is_switched && !wslay_event_want_write(socket->wslay);
}

/* --- frames that go --------------------------------------------------------------------------- */

static struct buf *begin_frame(struct bench_socket *socket)
{
    buf_clear(&socket->frame);
    return &socket->frame;
}

/* Sends as much as it can. The rest is sent by on_writable, or lost with the connection. */
static void send_frame(struct bench_socket *socket)
{
    struct buf *frame = &socket->frame;
    if (frame->is_over)
        abort();
    if (!socket->worker.conn.is_switched)
        return;
    if (wslay_event_queue_msg(socket->wslay,
                              &(struct wslay_event_msg){.opcode = WSLAY_TEXT_FRAME,
                                                        .msg = (const uint8_t *)frame->at,
                                                        .msg_length = frame->n}) != 0)
        return; /* the node has closed the socket */
    if (wslay_event_send(socket->wslay) != 0)
        bench_fault(socket->faults, "a frame could not be sent");
}

void bench_socket_partial(struct bench_socket *socket, const struct bench_worker *worker)
{
    struct buf *frame = begin_frame(socket);
    buf_lit(frame, "{\"Type\":\"partial\",");
    bench_worker_put_partial(worker, frame);
    send_frame(socket);
}

void bench_socket_answer(struct bench_socket *socket, const struct bench_worker *worker)
{
    struct buf *frame = begin_frame(socket);
    buf_lit(frame, "{\"Type\":\"answer\",\"Lease\":");
    buf_put(frame, worker->claim_lease);
    buf_put_char(frame, ',');
    bench_worker_put_answer(worker, frame);
    send_frame(socket);
}

void bench_socket_answer_all(struct bench_socket *socket)
{
    do
        bench_socket_answer(socket, &socket->worker);
    while (bench_worker_next_row(&socket->worker));
}
