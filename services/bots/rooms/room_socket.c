/* SPDX-License-Identifier: MIT
 * room_socket.c - the life of clients' sockets (see rooms.h); GET /ws/rooms/{id}.
 *
 *   IDLE --a message of the client--> SPEAKING --stored, or refused--> IDLE
 *   (any) --the client has left, or its right--> CLOSED: what it said comes to its end */
#include "services/bots/rooms/handlers.h"
#include "services/bots/rooms/rooms.h"
#include "services/bots/rooms/say.h"

#include "generated/verbs.h"
#include "services/bots/skeleton.h"
#include "shared/ask/reply.h"
#include "shared/ask/storage_limit.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"
#include "shared/http/request/explain.h"

#include <stdio.h>

enum { FRAME_MAX_BYTES = 512 << 10, MEMBERS_MAX = 64 };

static const struct sm_state states[] = {
    [ROOM_SOCKET_IDLE] = {"IDLE", SM(ROOM_SOCKET_SPEAKING) | SM(ROOM_SOCKET_CLOSED)},
    [ROOM_SOCKET_SPEAKING] = {"SPEAKING", SM(ROOM_SOCKET_IDLE) | SM(ROOM_SOCKET_CLOSED)},
    [ROOM_SOCKET_CLOSED] = {"CLOSED", 0},
};
static const struct sm sm = SM_OF("room socket", states);

static void move(struct room_socket *socket, enum room_socket_state to)
{
    socket->state = sm_move(&sm, socket->number, socket->state, to);
}

/* --- what a client says ----------------------------------------------------------------------- */

static void send_whole(struct room_socket *socket, const struct buf *b)
{
    if (!b->is_over)
        websocket_send(socket->websocket, buf_str(b));
}

static void send_error(struct room_socket *socket, enum err error, const char *detail)
{
    struct buf b;
    buf_init(&b, MESSAGE_JSON_MAX_BYTES);
    buf_lit(&b, "{\"error\":{\"code\":");
    buf_put_json(&b, str_of(err_info(error)->code));
    buf_put_key(&b, "detail");
    buf_put_json(&b, str_of(detail != NULL ? detail : err_info(error)->text));
    buf_lit(&b, "}}");
    send_whole(socket, &b);
    buf_fini(&b);
}

/* The message itself comes to the socket as to all others. */
static void on_said(void *context, const struct said *said)
{
    struct room_socket *socket = context;
    struct buf b;
    socket->saying = NULL;
    if (said->end->outcome != POSTED)
        send_error(socket, said->end->error, said->end->detail);
    buf_init(&b, MESSAGE_JSON_MAX_BYTES);
    buf_lit(&b, "{\"private\":");
    buf_put(&b, said->private);
    buf_put_char(&b, '}');
    if (said->private.n > 0)
        send_whole(socket, &b);
    buf_fini(&b);
    move(socket, ROOM_SOCKET_IDLE);
    websocket_resume(socket->websocket);
}

/* False: it was refused. */
static bool read_frame(struct room_socket *socket, struct str text, struct speech *ret_speech)
{
    struct json_member members[MEMBERS_MAX];
    char detail[POST_DETAIL_BYTES];
    const char *reason;
    size_t n, at;
    bool is_object;
    *ret_speech = (struct speech){.own = NULL};
    if (!json_scan_object(text, members, MEMBERS_MAX, &n, &reason, &at, &is_object)) {
        snprintf(detail, sizeof detail, "The message is not a JSON object: %s (at byte %zu).",
                 reason, at);
        send_error(socket, ERR_BAD_JSON, detail);
        return false;
    }
    if (n > MEMBERS_MAX) {
        send_error(socket, ERR_BAD_REQUEST, "A message has at most 64 members.");
        return false;
    }
    if (!speech_read(members, n, ret_speech, detail)) {
        send_error(socket, ERR_BAD_REQUEST, detail);
        return false;
    }
    return true;
}

static void on_message(struct websocket *websocket, void *arg, struct str text)
{
    struct room_socket *socket = arg;
    struct bots *bots = socket->rooms->bots;
    struct speech speech;
    if (bots->server->is_draining) {
        send_error(socket, ERR_DRAINING, NULL);
        return;
    }
    if (skeleton_is_same(socket->who.user, BOTS_ANNEX)) {
        send_error(socket, ERR_NAME_TAKEN, BOTS_TAKEN_BY_ANNEX);
        return;
    }
    if (socket->watched == NULL)
        return;
    if (read_frame(socket, text, &speech)) {
        move(socket, ROOM_SOCKET_SPEAKING);
        websocket_pause(websocket);
        socket->saying =
            say_start(bots, &socket->who, str_of(socket->watched->room), &speech,
                      socket->max_stored, socket->max_stored_per_user, STR(""), on_said, socket);
    }
    speech_fini(&speech);
}

/* --- life ------------------------------------------------------------------------------------- */

static void on_idle(struct websocket *websocket, void *arg)
{
    (void)websocket;
    room_follow_on_idle(arg);
}

static bool is_busy(struct websocket *websocket, void *arg)
{
    const struct room_socket *socket = arg;
    (void)websocket;
    return socket->state == ROOM_SOCKET_SPEAKING;
}

static void leave(struct room_socket *socket)
{
    say_leave(socket->saying);
    room_follow_stop(socket);
    move(socket, ROOM_SOCKET_CLOSED);
    list_remove(&socket->link);
    free(socket->own);
    free(socket);
}

static void on_closed(struct websocket *websocket, void *arg, unsigned code)
{
    (void)websocket, (void)code;
    leave(arg);
}

void room_socket_end(struct room_socket *socket)
{
    room_follow_stop(socket);
    websocket_close(socket->websocket, WEBSOCKET_POLICY, "This room no longer exists.");
}

static struct room_socket *create(struct rooms *rooms, struct request *r,
                                  const struct bots_who *who)
{
    struct room_socket *socket = mem_zeroed(sizeof *socket);
    *socket = (struct room_socket){
        .rooms = rooms,
        .number = sm_number(),
        .max_stored = storage_limit_of_account(r),
        .max_stored_per_user = storage_limit_of_user(r),
    };
    socket->own = bots_who_copy(who, &socket->who);
    list_prepend(&rooms->sockets, &socket->link);
    return socket;
}

/* The room exists, and this request may see it. Without `after`, the socket begins at its end. */
static void on_room(struct request *r, enum err error, struct str reply)
{
    static const struct websocket_events events = {.message_max_bytes = FRAME_MAX_BYTES,
                                                   .on_message = on_message,
                                                   .on_idle = on_idle,
                                                   .is_busy = is_busy,
                                                   .on_closed = on_closed};
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines), after = request_param(r, "after");
    if (error == ERR_OK && !str_eq(tag, STR("ok"))) {
        rooms_refuse_missing(r);
        return;
    }
    if (reply_refuse(r, error, tag, &lines))
        return;
    struct room_socket *socket = create(bots_of(r)->rooms, r, r->state);
    struct str from = after.at == NULL ? lines_next(&lines) : after;
    memcpy(socket->last, from.at, from.n < sizeof socket->last ? from.n : 0);
    socket->websocket = websocket_accept(r, &events, socket);
    if (socket->websocket == NULL)
        leave(socket);
    else
        room_follow_start(socket, request_path_param(r, "id"));
}

static void find_room(struct request *r)
{
    struct bots_who *who = request_alloc(r, sizeof *who);
    struct str after = request_param(r, "after"), room = request_path_param(r, "id");
    if (!bots_who_of(r, who))
        return;
    if (after.n > 0 && !message_is_id(after)) {
        (void)explain_param(r, "after", "the id of a message");
        return;
    }
    if (!message_is_room(room)) {
        rooms_refuse_missing(r);
        return;
    }
    r->state = who;
    call_room_watch(request_call(r, on_room), .room = room, .namespace = who->namespace,
                    .after = ROOM_END);
}

/* A socket's frames cannot take a nonce back: it is used up first. */
void rooms_socket(struct request *r)
{
    if (r->nonce.is_set)
        request_handle_after_nonce(r);
    else
        find_room(r);
}

void room_sockets_fini(struct rooms *rooms)
{
    list_for_each (struct room_socket, socket, &rooms->sockets, link)
        leave(socket);
}
