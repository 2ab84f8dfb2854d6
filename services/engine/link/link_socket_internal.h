/* SPDX-License-Identifier: MIT
 *
 * link_socket_internal: the parts that link_socket.c, which is the life of the socket, shares with
 * what travels over it: link_calls.c, link_claims.c, link_pieces.c and link_frames.c. Only they
 * include it.
 */
#ifndef PARLEY_SERVICES_ENGINE_LINK_LINK_SOCKET_INTERNAL_H
#define PARLEY_SERVICES_ENGINE_LINK_LINK_SOCKET_INTERNAL_H

#include "services/engine/link/link_socket.h"
#include "shared/http/client/websocket_client.h"

enum {
    SOCKET_SLOTS_MAX = 64,           /* of one socket, as nodes limit it */
    SOCKET_FRAME_MAX_BYTES = 2 << 20 /* the body of a route, and more members */
};

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

/* --- link_calls.c ----------------------------------------------------------------------------- */

/* Ends a call, which is in no list any more. */
void link_socket_end_call(struct link_socket *s, struct link_call *call,
                          const struct link_reply *reply);
/* The same with a reply of its own: LINK_OK is no claim. */
void link_socket_end_with(struct link_socket *s, struct link_call *call, enum link_verdict verdict,
                          const char *reason);

/* --- link_frames.c ---------------------------------------------------------------------------- */

void link_socket_on_text(void *context, struct str text);

/* --- link_claims.c ---------------------------------------------------------------------------- */

void link_socket_on_claim(struct link_socket *s, json_t *json);
/* A claim whose JSON cannot be read: the slot finds its topic and lease in the text. */
void link_socket_on_unreadable(struct link_socket *s, struct str text, const char *reason);
void link_socket_start_poll(struct link_socket *s, struct link_call *call);
/* The slot's poll, of which there is one at most, ends with no claim. */
void link_socket_end_poll(struct link_socket *s, const void *context);
void link_socket_end_polls(struct link_socket *s);
/* The slots that this connection has with `poll_n` polls. A claim that no poll has taken yet and a
 * poll that will take it are one. */
unsigned link_socket_count(const struct link_socket *s, unsigned poll_n);
/* Reports to the node for how many claims there is room, if that has changed. */
void link_socket_put_slots(struct link_socket *s);
/* Releases claims that no poll took. */
void link_socket_release_claims(struct link_socket *s);
void link_socket_drop_claims(struct link_socket *s);

/* --- link_pieces.c ---------------------------------------------------------------------------- */

/* A frame about the text of a query. */
void link_socket_on_piece(struct link_socket *s, const json_t *frame,
                          const struct link_reply *reply);
/* All listeners get this reply, and none any more. */
void link_socket_lose_pieces(struct link_socket *s, const struct link_reply *reply);

#endif
