/* SPDX-License-Identifier: MIT
 *
 * socket: clients' WebSockets on /ws, and the runs that each of them follows. A socket works on one
 * message at a time; it is not read meanwhile. It gets frames from Redis's events alone, also those
 * of runs that its own node drives, and each frame of a run once and in order.
 *
 * For run/ only: socket.c has the sockets' life, command.c what clients say, follow.c what they
 * get. One set per node, on its loop's thread.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_SOCKET_H
#define PARLEY_SERVICES_WORKFLOW_SOCKET_H

#include "services/workflow/approvals/answer.h"
#include "services/workflow/run/envelope.h"
#include "services/workflow/workflow.h"
#include "shared/http/websocket/websocket.h"

enum {
    SOCKET_FOLLOWS_MAX = 64, /* runs */
    SOCKETS_BUCKETS = 1024,
};

struct trees;

enum socket_state {
    SOCKET_IDLE,
    SOCKET_BEGINNING, /* a run */
    SOCKET_ECHOING,   /* finds the run that the deployed chat continues */
    SOCKET_FINDING,   /* the run of a request id */
    SOCKET_ANSWERING,
    SOCKET_CLOSED
};

/* A session that clients here follow. */
struct watched {
    struct list_link link; /* in its bucket */
    struct list followers; /* struct follower */
    bool is_left;          /* Redis knows that nobody watches */
    char session[WORKFLOW_SID_BYTES + 1];
};

/* A run that a socket follows. */
struct follower {
    struct list_link link, session_link; /* of the socket, of the session */
    struct socket *socket;
    struct watched *watched;
    uint64_t run, last_seq, newest_seq; /* sent to the client; of an event */
    bool is_behind; /* frames after last_seq are stored: they are read, not taken from events */
    bool is_waiting;
    char request_id[]; /* a name, NUL-terminated */
};

struct socket {
    struct list_link link; /* of all */
    struct sockets *all;
    struct websocket *websocket;
    enum socket_state state;
    uint64_t number;
    struct workflow_who who; /* these texts are one allocation, after the struct */
    struct str traceparent;
    uint64_t max_stored, max_stored_per_user;
    struct list followers; /* struct follower */
    unsigned follower_n;
    struct call reading; /* frames of a follower that is behind */
    struct follower *reader;
    /* The message that is worked on: */
    struct envelope envelope;
    char session[WORKFLOW_SID_BYTES + 1];
    uint64_t run, step;
    struct call call;
    struct answering *answering;
    struct trees *trees;
    json_t *body;
    struct str verb; /* that the run begins with */
    bool is_echo;
    bool has_sent_file;
};

struct sockets {
    struct workflow *workflow;
    struct list list; /* struct socket */
    struct deadline renew;
    struct list buckets[SOCKETS_BUCKETS]; /* struct watched */
};

struct sockets *sockets_create(struct workflow *workflow) must_check;
/* Accepts NULL. */
void sockets_destroy(struct sockets *sockets);
/* A frame was stored (lua/workflow/watching.lua). */
void sockets_on_event(struct sockets *sockets, struct lines *rest);
void sockets_on_up(struct sockets *sockets, unsigned shard);

/* --- socket.c --- */

void socket_move(struct socket *socket, enum socket_state to);
/* The message is done: the next one is read. */
void socket_finish(struct socket *socket);
/* The same with an error envelope. */
void socket_refuse(struct socket *socket, struct str reason);

/* --- command.c --- */

/* Begins to work on a message; done at once, or later by socket_finish. */
void socket_handle(struct socket *socket, struct str text);
/* Forgets the message that is worked on. */
void socket_drop_command(struct socket *socket);

/* --- follow.c --- */

struct follower *follower_find(const struct socket *socket, struct str session, uint64_t run);
/* The one that follows that request (a name), of any session. */
struct follower *follower_find_request(const struct socket *socket, struct str request_id);
/* Follows the run from after `since` on, even if it does already; `is_behind`: what is stored is
 * read first, and this node becomes a watcher. False: it follows too many. */
bool follower_start(struct socket *socket, struct str session, uint64_t run, struct str request_id,
                    uint64_t since, bool is_behind) must_check;
void follower_stop(struct follower *follower);
/* Reads on for those that are behind, unless one is being read. */
void follower_catch_up(struct socket *socket);
void follower_init(struct sockets *sockets);
void follower_fini(struct sockets *sockets);

#endif
