/* SPDX-License-Identifier: MIT
 *
 * rooms: the state of a node for rooms: clients' sockets, each of which follows a room, and
 * messages that are being posted. For rooms/ only: rooms_component.c creates and ends it,
 * room_socket.c has the sockets, room_follow.c sends each message to its sockets, post.c and say.c
 * post. One per node, on its loop's thread.
 */
#ifndef PARLEY_BOTS_ROOMS_ROOMS_H
#define PARLEY_BOTS_ROOMS_ROOMS_H

#include "services/bots/bots.h"
#include "services/bots/rooms/message.h"
#include "shared/http/websocket/websocket.h"

enum { ROOMS_BUCKETS = 1024 };

/* A room that clients here follow. */
struct watched_room {
    struct list_link link; /* in its bucket */
    struct rooms *rooms;
    struct list followers; /* struct room_socket */
    struct call call;      /* that renews the watch */
    bool is_left;          /* Redis knows that nobody watches */
    char room[ROOM_ID_BYTES + 1];
};

enum room_socket_state { ROOM_SOCKET_IDLE, ROOM_SOCKET_SPEAKING, ROOM_SOCKET_CLOSED };

struct room_socket {
    struct list_link link, room_link; /* of the node, of the room */
    struct rooms *rooms;
    struct watched_room *watched;
    struct websocket *websocket;
    enum room_socket_state state;
    uint64_t number;
    struct bots_who who; /* its texts are in `own` */
    char *own;
    uint64_t max_stored, max_stored_per_user;
    struct saying *saying;
    /* The last message that it was sent; "": none, from the oldest on. */
    char last[MESSAGE_ID_MAX_BYTES + 1];
    char newest[MESSAGE_ID_MAX_BYTES + 1]; /* of an event */
    bool is_behind; /* messages after `last` are stored: they are read, not taken from events */
    struct call reading;
    /* Sent since the client last had read everything. */
    size_t waiting_bytes, waiting_n;
};

struct rooms {
    struct bots *bots;
    struct list postings; /* struct posting */
    struct list sayings;  /* struct saying */
    struct list sockets;  /* struct room_socket */
    struct deadline renew;
    struct list buckets[ROOMS_BUCKETS]; /* struct watched_room */
};

/* --- room_follow.c --- */

void room_follow_init(struct rooms *rooms);
void room_follow_fini(struct rooms *rooms);
/* The socket follows the room from after its `last` on. */
void room_follow_start(struct room_socket *socket, struct str room);
void room_follow_stop(struct room_socket *socket);
/* Continues, because the client has read everything that was sent. */
void room_follow_on_idle(struct room_socket *socket);
/* Reads on if it is behind, unless it reads already, or the client does not read. */
void room_follow_catch_up(struct room_socket *socket);
/* A message was stored (lua/bots/messages.lua). */
void room_follow_on_event(struct rooms *rooms, struct lines *rest);
void room_follow_on_up(struct rooms *rooms, unsigned shard);

/* --- room_socket.c --- */

void room_sockets_fini(struct rooms *rooms);
/* Closes the socket: what it follows is gone. */
void room_socket_end(struct room_socket *socket);

#endif
