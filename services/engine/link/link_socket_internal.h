/* SPDX-License-Identifier: MIT
 *
 * link_socket_internal: the parts that link_socket.c, which is the life of the socket, shares with
 * link_frames.c, which is all that travels over it. Only they include it.
 */
#ifndef PARLEY_SERVICES_ENGINE_LINK_LINK_SOCKET_INTERNAL_H
#define PARLEY_SERVICES_ENGINE_LINK_LINK_SOCKET_INTERNAL_H

#include "services/engine/link/link_socket.h"
#include "shared/http/client/websocket_client.h"

enum { SOCKET_SLOTS_MAX = 64 /* of one socket, as nodes limit it */ };

enum socket_state { SOCKET_DOWN, SOCKET_OPENING, SOCKET_OPEN, SOCKET_CLOSING };

struct link_socket {
    struct link *link;
    struct link_socket_settings settings;
    struct websocket_client_settings client_settings;
    enum socket_state state;
    struct websocket_client *client;
    struct websocket_client_fault fault; /* why it is not open */
    struct link_node *node;
    unsigned home;
    struct timer timer;     /* DOWN: the next try; otherwise a time limit */
    unsigned number;        /* of the connection, from 1 */
    unsigned failures;      /* refusals since it was open */
    struct backoff backoff; /* of nodes that do not respond */
    bool has_tried, is_refused_said, is_leaving;
    uint64_t last_id;
    struct list polls, calls; /* struct link_call */
    struct list pieces;       /* struct piece_listener */
    struct list claims;       /* struct untaken: no poll waited */
    unsigned poll_n, claim_n;
    unsigned held_n, releasing_n; /* claims of this connection, and those about to be over */
    unsigned reported_slots;
};

/* --- link_frames.c ---------------------------------------------------------------------------- */

/* All polls end with no claim. */
void link_socket_end_polls(struct link_socket *s);
void link_socket_on_text(void *context, struct str text);
/* Ends a call, which is in no list any more. */
void link_socket_end_call(struct link_socket *s, struct link_call *call,
                          const struct link_reply *reply);
/* Reports to the node for how many claims there is room, if that has changed. */
void link_socket_put_slots(struct link_socket *s);
void link_socket_lose_pieces(struct link_socket *s, const struct link_reply *reply);
/* Releases claims that no poll took. */
void link_socket_release_claims(struct link_socket *s);
void link_socket_drop_claims(struct link_socket *s);

#endif
