/* SPDX-License-Identifier: MIT
 * socket.c - the life of clients' sockets (see socket.h); GET /ws.
 *
 *   IDLE --a message--> BEGINNING, ECHOING, FINDING --> ANSWERING --> IDLE
 *   (any) --the client has left, or its right--> CLOSED: its runs continue */
#include "services/workflow/run/socket.h"

#include "services/workflow/trees/trees.h"
#include "shared/ask/storage_limit.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"
#include "shared/http/request/respond.h"
#include "shared/queue/lines.h"

enum { ERROR_MAX_BYTES = 8 << 10 };

static const struct sm_state states[] = {
    [SOCKET_IDLE] = {"IDLE", SM(SOCKET_BEGINNING) | SM(SOCKET_ECHOING) | SM(SOCKET_FINDING) |
                                 SM(SOCKET_CLOSED)},
    [SOCKET_BEGINNING] = {"BEGINNING", SM(SOCKET_IDLE) | SM(SOCKET_CLOSED)},
    [SOCKET_ECHOING] = {"ECHOING", SM(SOCKET_FINDING) | SM(SOCKET_IDLE) | SM(SOCKET_CLOSED)},
    [SOCKET_FINDING] = {"FINDING", SM(SOCKET_ANSWERING) | SM(SOCKET_IDLE) | SM(SOCKET_CLOSED)},
    [SOCKET_ANSWERING] = {"ANSWERING", SM(SOCKET_IDLE) | SM(SOCKET_CLOSED)},
    [SOCKET_CLOSED] = {"CLOSED", 0},
};
static const struct sm sm = SM_OF("workflow socket", states);

void socket_move(struct socket *socket, enum socket_state to)
{
    socket->state = sm_move(&sm, socket->number, socket->state, to);
}

/* --- messages --------------------------------------------------------------------------------- */

static void send_error(struct socket *socket, struct str reason)
{
    struct buf b;
    buf_init(&b, ERROR_MAX_BYTES);
    envelope_put_error(&b, &socket->envelope, reason);
    if (!b.is_over)
        websocket_send(socket->websocket, buf_str(&b));
    buf_fini(&b);
}

void socket_finish(struct socket *socket)
{
    socket_drop_command(socket);
    if (socket->state == SOCKET_IDLE) /* at once: it was not paused */
        return;
    socket_move(socket, SOCKET_IDLE);
    websocket_resume(socket->websocket);
}

void socket_refuse(struct socket *socket, struct str reason)
{
    send_error(socket, reason);
    socket_finish(socket);
}

static void on_message(struct websocket *websocket, void *arg, struct str text)
{
    struct socket *socket = arg;
    socket_handle(socket, text);
    if (socket->state != SOCKET_IDLE)
        websocket_pause(websocket);
}

static void on_idle(struct websocket *websocket, void *arg)
{
    (void)websocket;
    follower_catch_up(arg);
}

/* --- life ------------------------------------------------------------------------------------- */

static void leave(struct socket *socket)
{
    socket_drop_command(socket);
    socket_move(socket, SOCKET_CLOSED);
    list_for_each (struct follower, follower, &socket->followers, link)
        follower_stop(follower);
    call_detach(&socket->reading);
    list_remove(&socket->link);
    free(socket);
}

static void on_closed(struct websocket *websocket, void *arg, unsigned code)
{
    (void)websocket, (void)code;
    leave(arg);
}

static struct str keep(char **at, struct str text)
{
    char *copy = *at;
    if (text.n > 0)
        memcpy(copy, text.at, text.n);
    *at += text.n;
    return (struct str){copy, text.n};
}

static struct socket *create(struct sockets *all, struct request *r, const struct workflow_who *who)
{
    struct str trace = request_header(r, "traceparent");
    struct socket *socket = mem_zeroed(sizeof *socket + who->account.n + who->user.n +
                                       who->user_name.n + who->role.n + trace.n);
    char *at = (char *)(socket + 1);
    *socket = (struct socket){
        .all = all,
        .number = sm_number(),
        .who = {keep(&at, who->account), keep(&at, who->user), keep(&at, who->user_name),
                keep(&at, who->role)},
        .traceparent = keep(&at, trace),
        .max_stored = r->account == NULL ? NO_NUMBER : storage_limit_of_account(r),
        .max_stored_per_user = r->account == NULL ? NO_NUMBER : storage_limit_of_user(r),
    };
    list_prepend(&all->list, &socket->link);
    return socket;
}

/* It works on a message, or follows a run that continues. */
static bool is_busy(struct websocket *websocket, void *arg)
{
    const struct socket *socket = arg;
    (void)websocket;
    list_for_each (const struct follower, f, &socket->followers, link)
        if (!f->is_waiting)
            return true;
    return socket->state != SOCKET_IDLE;
}

static void open_socket(struct request *r)
{
    static const struct websocket_events events = {.message_max_bytes = ENVELOPE_MAX_BYTES,
                                                   .on_message = on_message,
                                                   .on_idle = on_idle,
                                                   .is_busy = is_busy,
                                                   .on_closed = on_closed};
    struct sockets *all = workflow_of(r)->sockets;
    struct workflow_who who;
    if (!workflow_who_of(r, request_param(r, "OnBehalfOf"), &who))
        return;
    struct socket *socket = create(all, r, &who);
    socket->websocket = websocket_accept(r, &events, socket);
    if (socket->websocket == NULL)
        leave(socket);
}

/* A socket's frames cannot take a nonce back: it is used up first. */
void workflow_socket(struct request *r)
{
    if (r->nonce.is_set)
        request_handle_after_nonce(r);
    else
        open_socket(r);
}

struct sockets *sockets_create(struct workflow *workflow)
{
    struct sockets *sockets = mem_zeroed(sizeof *sockets);
    sockets->workflow = workflow;
    follower_init(sockets);
    return sockets;
}

void sockets_destroy(struct sockets *sockets)
{
    if (sockets == NULL)
        return;
    list_for_each (struct socket, socket, &sockets->list, link)
        leave(socket);
    follower_fini(sockets);
    free(sockets);
}
