/* SPDX-License-Identifier: MIT
 *
 * websocket_internal: shared by websocket.c (its life), websocket_pump.c (bytes),
 * websocket_messages.c (messages) and websocket_owners.c (whose they are). Private to shared/http;
 * on the loop's thread.
 */
#ifndef PARLEY_HTTP_WEBSOCKET_INTERNAL_H
#define PARLEY_HTTP_WEBSOCKET_INTERNAL_H

#include "shared/http/websocket/websocket.h"

#include <wslay/wslay.h>

enum websocket_state {
    WEBSOCKET_UPGRADING,
    WEBSOCKET_OPEN,
    WEBSOCKET_CLOSING,
    WEBSOCKET_LINGERING,
    WEBSOCKET_GONE,
    WEBSOCKET_NR
};

struct websocket {
    struct list_link link; /* of the server */
    struct server *server;
    const struct websocket_events *events;
    void *arg;
    enum websocket_state state;
    uint64_t number;      /* for the log of its states */
    h2o_socket_t *socket; /* NULL while UPGRADING */
    wslay_event_context_ptr wslay;
    const struct account *account;    /* NULL: of a provider's token, or nobody's */
    struct websocket_owner *owner;    /* whose share of the connections it takes */
    struct deadline expiry;           /* of its token */
    struct deadline pump_soon, check; /* check: for signs of life, or for the end of a close */
    struct buf message;               /* the text that is being received; memory only meanwhile */
    struct buf held;                  /* whole messages for later, each after its length */
    struct buf sending;               /* what is being written; memory only meanwhile */
    size_t held_at;
    size_t owner_bytes;      /* that its owner holds of messages */
    size_t queued_bytes;     /* part of the server's */
    size_t read_left;        /* bytes that may be read in this pass */
    uint64_t message_end_ms; /* until when the message must be complete; 0: none has begun */
    uint64_t slowed_ms;      /* until when no message is delivered, for its account's rate */
    unsigned write_checks_n; /* checks since the write began that is under way */
    unsigned code;           /* why we close it; 0: we do not */
    char *reason;            /* own memory; NULL with code 0 */
    bool is_pumping, is_writing, was_heard;
    bool is_authenticated; /* it has an account */
    bool is_control;       /* the frame that is being received */
    bool is_paused;        /* by its owner */
    bool is_dry;           /* nothing is left to read in this pass */
    bool has_ended;        /* the peer sends no more */
};

void websocket_move(struct websocket *ws, enum websocket_state to);
/* Frees it. Called from the loop only. */
void websocket_end(struct websocket *ws);
void websocket_begin_closing(struct websocket *ws);
/* The peer sent what no peer may, and wslay answers it with a close frame without a code: the code
 * is put in on its way out. */
void websocket_note_fault(struct websocket *ws);

/* Moves bytes both ways, and may end the socket. Called from the loop only. */
void websocket_pump(struct websocket *ws);
/* The same in the next pass of the loop, or after `after_ms`. */
void websocket_pump_after(struct websocket *ws, uint64_t after_ms);
/* Updates the sums of what waits for readers. */
void websocket_count_queued(struct websocket *ws);
/* Drops the message that is being received. */
void websocket_drop_message(struct websocket *ws);
/* Queues the close frame with ws->code. */
void websocket_queue_close(struct websocket *ws);

/* wslay's callbacks. */
extern const struct wslay_event_callbacks websocket_callbacks;
/* Frees libh2o's buffer, which only holds what came along with the handshake. */
void websocket_drop_empty_input(struct websocket *ws);
/* Returns the bytes that were read, or 0: nothing for now, or the peer's end (has_ended). */
ssize_t websocket_read(struct websocket *ws, void *bytes, size_t n);
/* Returns whether nothing more is to be read for now. */
bool websocket_is_behind(const struct websocket *ws);
/* Delivers messages that were held. */
void websocket_deliver_held(struct websocket *ws);

/* Counts one more socket of the request's account, of its provider's user, or of its address.
 * NULL: it has its share of this node's connections. */
struct websocket_owner *websocket_owner_enter(struct request *r) must_check;
/* Sockets that one owner may have; 0: any number. */
size_t websocket_owner_share(const struct server *server) must_check;
void websocket_owner_leave(struct server *server, struct websocket_owner *owner);
/* So many bytes more wait for readers, or less. */
void websocket_owner_count(struct websocket *ws, ptrdiff_t bytes);
/* Room for data that waits on a socket, by what its owner has on all of its sockets. */
enum websocket_capacity { WEBSOCKET_CAPACITY, WEBSOCKET_CAPACITY_FOR_ONE, WEBSOCKET_NO_CAPACITY };
enum websocket_capacity websocket_owner_capacity(const struct websocket *ws) must_check;

#endif
