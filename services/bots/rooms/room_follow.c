/* SPDX-License-Identifier: MIT
 * room_follow.c - sends each message to the sockets that follow its room (see rooms.h). A message
 * comes as an event with the id of the one before it. If that is the last one a socket was sent,
 * the message is sent too; one that was sent before is dropped. At a gap, after a lost connection
 * and for a replay, messages are read from Redis, a page at a time, and the next page only when the
 * client has read the one before. The same is done for a client that reads more slowly than
 * messages come. */
#include "services/bots/rooms/rooms.h"

#include "generated/verbs.h"
#include "shared/base/mem.h"

#include <assert.h>

enum {
    RENEW_MS = 20000,
    /* Bytes that may wait for a client that reads slowly, in addition to one message or page. */
    WAITING_MAX_BYTES = 256 << 10,
    WAITING_MAX = 256,
};

/* --- rooms ------------------------------------------------------------------------------------ */

/* A room's id is random: any of its digits are as good as others. */
static struct list *bucket_of(struct rooms *rooms, struct str room)
{
    unsigned char bytes[2] = {0};
    if (room.n < 4 || !str_unhex((struct str){room.at, 4}, bytes))
        return &rooms->buckets[0];
    return &rooms->buckets[(bytes[0] << 8 | bytes[1]) % ROOMS_BUCKETS];
}

static struct watched_room *find(struct rooms *rooms, struct str room)
{
    list_for_each (struct watched_room, watched, bucket_of(rooms, room), link)
        if (str_eq(str_of(watched->room), room))
            return watched;
    return NULL;
}

static struct watched_room *enter(struct rooms *rooms, struct str room)
{
    struct watched_room *watched = find(rooms, room);
    if (watched != NULL)
        return watched;
    watched = mem_zeroed(sizeof *watched);
    memcpy(watched->room, room.at, ROOM_ID_BYTES);
    watched->rooms = rooms;
    list_prepend(bucket_of(rooms, room), &watched->link);
    return watched;
}

static void set_id(char to[MESSAGE_ID_MAX_BYTES + 1], struct str id)
{
    size_t n = id.n < MESSAGE_ID_MAX_BYTES ? id.n : MESSAGE_ID_MAX_BYTES;
    assert(to != NULL); /* str_of takes NULL, too, so analysers take it to be possible */
    if (n > 0)
        memcpy(to, id.at, n);
    to[n] = 0;
}

/* Notes the newest message stored in a room; the event of it may have been lost. */
static void note_newest(struct watched_room *watched, struct str newest)
{
    list_for_each (struct room_socket, s, &watched->followers, room_link) {
        if (message_compare(newest, str_of(s->last)) > 0)
            s->is_behind = true;
        room_follow_catch_up(s);
    }
}

/* The room is gone. */
static void end_all(struct watched_room *watched)
{
    list_for_each (struct room_socket, socket, &watched->followers, room_link)
        room_socket_end(socket);
}

static void on_renewed(struct call *call, enum err error, struct str reply)
{
    struct watched_room *watched = container_of(call, struct watched_room, call);
    struct lines lines = lines_of(reply);
    struct str tag = error == ERR_OK ? lines_next(&lines) : STR("");
    if (str_eq(tag, STR("ok")))
        note_newest(watched, lines_next(&lines));
    else if (str_eq(tag, STR("missing")))
        end_all(watched);
}

/* Redis hears that nobody follows a room only some time after the last one has left, and the room
 * is forgotten some time after that: a new follower may come at any moment. */
static void renew(struct rooms *rooms, struct watched_room *watched)
{
    struct shards *shards = rooms->bots->server->shards;
    if (!list_is_empty(&watched->followers)) {
        if (!call_is_under_way(&watched->call))
            call_room_watch_again(shards_call(shards, &watched->call, on_renewed),
                                  .room = str_of(watched->room));
    } else if (!watched->is_left) {
        watched->is_left = true;
        call_room_unwatch(shards_forget(shards), .room = str_of(watched->room));
    } else {
        list_remove(&watched->link);
        call_detach(&watched->call);
        free(watched);
    }
}

static void on_renew(struct deadline *deadline)
{
    struct rooms *rooms = container_of(deadline, struct rooms, renew);
    for (unsigned i = 0; i < ROOMS_BUCKETS; i++)
        list_for_each (struct watched_room, watched, &rooms->buckets[i], link)
            renew(rooms, watched);
    list_for_each (struct room_socket, socket, &rooms->sockets, link)
        room_follow_catch_up(socket);
    loop_set_deadline(rooms->bots->server->loop, &rooms->renew, RENEW_MS);
}

/* --- followers -------------------------------------------------------------------------------- */

void room_follow_start(struct room_socket *socket, struct str room)
{
    struct watched_room *watched = enter(socket->rooms, room);
    socket->watched = watched;
    list_prepend(&watched->followers, &socket->room_link);
    watched->is_left = false;
    socket->is_behind = true; /* this node becomes a watcher with the first page */
    room_follow_catch_up(socket);
}

void room_follow_stop(struct room_socket *socket)
{
    call_detach(&socket->reading);
    list_remove(&socket->room_link);
    socket->watched = NULL;
}

/* --- messages --------------------------------------------------------------------------------- */

static void send_to(struct room_socket *socket, const struct message *message, struct buf *b)
{
    if (b->n == 0)
        message_put(b, message);
    set_id(socket->last, message->id);
    socket->waiting_n++;
    socket->waiting_bytes += b->n;
    if (!b->is_over)
        websocket_send(socket->websocket, buf_str(b));
}

static bool reads_slowly(const struct room_socket *socket)
{
    return socket->waiting_n >= WAITING_MAX || socket->waiting_bytes >= WAITING_MAX_BYTES;
}

static void pass_on(const struct watched_room *watched, struct str before, struct lines *rest)
{
    struct message message = message_next(rest);
    struct buf b;
    buf_init(&b, MESSAGE_JSON_MAX_BYTES);
    list_for_each (struct room_socket, s, &watched->followers, room_link) {
        if (message_compare(message.id, str_of(s->last)) <= 0)
            continue;
        if (message_compare(message.id, str_of(s->newest)) > 0)
            set_id(s->newest, message.id);
        if (s->is_behind)
            continue;
        if (str_eq(before, str_of(s->last)) && !reads_slowly(s)) {
            send_to(s, &message, &b);
        } else {
            s->is_behind = true;
            room_follow_catch_up(s);
        }
    }
    buf_fini(&b);
}

void room_follow_on_event(struct rooms *rooms, struct lines *rest)
{
    struct watched_room *watched = find(rooms, lines_next(rest));
    struct str before = lines_next(rest);
    if (watched == NULL)
        return;
    if (str_eq(before, STR("gone")))
        end_all(watched);
    else
        pass_on(watched, before, rest);
}

/* A page as room_watch returns it, after "ok". Returns whether it had messages. An event that came
 * since it was asked for says that there are more. */
static bool send_page(struct room_socket *socket, struct lines *page)
{
    struct str newest = lines_next(page);
    bool has_more = lines_next_u64(page) == 1, has_messages = false;
    struct buf b;
    buf_init(&b, MESSAGE_JSON_MAX_BYTES);
    while (lines_are_left(page)) {
        struct message message = message_next(page);
        buf_clear(&b);
        send_to(socket, &message, &b);
        has_messages = true;
    }
    buf_fini(&b);
    /* The newest ones may have been deleted. */
    if (!has_more && message_compare(newest, str_of(socket->last)) > 0)
        set_id(socket->last, newest);
    socket->is_behind =
        has_more || message_compare(str_of(socket->newest), str_of(socket->last)) > 0;
    return has_messages;
}

static void on_read(struct call *call, enum err error, struct str reply)
{
    struct room_socket *socket = container_of(call, struct room_socket, reading);
    struct lines lines = lines_of(reply);
    if (error != ERR_OK)
        return; /* it stays behind until Redis is back, or until the next round */
    if (!str_eq(lines_next(&lines), STR("ok")))
        room_socket_end(socket);
    else if (!send_page(socket, &lines))
        room_follow_catch_up(socket);
    /* Otherwise once the client has read it (on_idle). */
}

void room_follow_on_idle(struct room_socket *socket)
{
    socket->waiting_bytes = socket->waiting_n = 0;
    room_follow_catch_up(socket);
}

void room_follow_catch_up(struct room_socket *socket)
{
    if (!socket->is_behind || socket->watched == NULL || socket->waiting_n > 0 ||
        call_is_under_way(&socket->reading))
        return;
    call_room_watch(shards_call(socket->rooms->bots->server->shards, &socket->reading, on_read),
                    .room = str_of(socket->watched->room), .namespace = socket->who.namespace,
                    .after = str_of(socket->last));
}

void room_follow_on_up(struct rooms *rooms, unsigned shard)
{
    struct shards *shards = rooms->bots->server->shards;
    list_for_each (struct room_socket, socket, &rooms->sockets, link) {
        if (socket->watched != NULL &&
            shards_turn(shards, str_of(socket->watched->room)) == shards->turns[shard])
            socket->is_behind = true;
        room_follow_catch_up(socket);
    }
}

/* --- life ------------------------------------------------------------------------------------- */

void room_follow_init(struct rooms *rooms)
{
    rooms->renew.on_expire = on_renew;
    loop_set_deadline(rooms->bots->server->loop, &rooms->renew, RENEW_MS);
}

void room_follow_fini(struct rooms *rooms)
{
    loop_cancel_deadline(rooms->bots->server->loop, &rooms->renew);
    for (unsigned i = 0; i < ROOMS_BUCKETS; i++)
        list_for_each (struct watched_room, watched, &rooms->buckets[i], link) {
            call_detach(&watched->call);
            free(watched);
        }
}
