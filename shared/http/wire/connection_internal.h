/* SPDX-License-Identifier: MIT
 *
 * connection_internal: shared by connection.c, connection_head.c, connection_held.c,
 * connection_read.c, connection_idle.c, connection_tls.c, connection_unread.c, streams.c and
 * frames.c. Private to shared/http; on the loop's thread.
 */
#ifndef PARLEY_HTTP_CONNECTION_INTERNAL_H
#define PARLEY_HTTP_CONNECTION_INTERNAL_H

#include "shared/http/wire/addresses.h"
#include "shared/http/wire/connection.h"

enum connection_state {
    CONNECTION_HANDSHAKE, /* of TLS */
    CONNECTION_PREFACE,   /* HTTP/2 by ALPN: waiting for the rest of its preface */
    CONNECTION_HEAD,      /* HTTP/1: waiting for the rest of a head or HTTP/2 preface */
    CONNECTION_BODY,      /* HTTP/1: a body of known length is read */
    CONNECTION_CHUNKS,    /* HTTP/1: a body in chunks is read */
    CONNECTION_HTTP2,
    CONNECTION_GIVEN, /* handed over, for example to a WebSocket */
    CONNECTION_NR
};

/* The least that is read at a time. */
enum { CONNECTION_READ_LEAST_BYTES = 1 << 10 };
/* A body of unknown length that is larger than this gets room for its maximum. */
enum { CONNECTION_GROWING_BYTES = 4 << 10 };

/* HTTP/2: answers that each anonymous connection may leave unread. */
enum { UNREAD_AT_LEAST = 4 };

struct connection {
    struct list_link idle;
    struct connections *all;
    h2o_socket_t *socket;
    h2o_socket_cb on_read; /* libh2o's */
    struct address *address;
    struct connection_tls *tls; /* NULL without TLS */
    struct list_link recheck;   /* of `rechecks` */
    struct exchange *request;   /* HTTP/1: under way */
    unsigned busy_n;            /* requests under way */
    unsigned scan_n;            /* of the unfinished head */
    enum connection_state state;
    bool has_greeted;           /* TLS: its handshake has begun */
    bool has_asked;             /* a request of it has begun */
    bool is_authenticated;      /* its last request was */
    bool is_body_authenticated; /* the body that is read now is */
    bool is_given_up;           /* it ends, because its client did not read (connection_unread.c) */
    bool is_suspect;            /* HTTP/2: it has kept many anonymous streams open */
    bool is_paused;             /* HTTP/2: see connection_pause */
    unsigned unanswered_n;      /* HTTP/2: refused requests */
    unsigned unread_n;          /* HTTP/2: answers to anonymous clients, not written */
    struct list_link writing;   /* of `writers` */
    size_t head_n;              /* HTTP/1, of the request under way */
    size_t most_n;              /* input bytes up to which its body is taken; of BODY: its end */
    size_t charged;             /* bytes that are held for bodies still on their way */
    struct deadline many_streams; /* HTTP/2: how long they may stay */
    size_t stream_bytes;          /* HTTP/2: cost of its anonymous streams */
    size_t header_table_bytes;    /* HTTP/2: of answers, once its sender is authenticated */
    uint64_t accepted_ms;         /* or when its handshake began and ended */
    size_t room_bytes;            /* HTTP/2: allocated for bodies, while they are judged */
    size_t room_left; /* HTTP/2: read no more than this, if it is not too little for a read */
    uint8_t cut[10];  /* HTTP/2: the header of what is to come of a DATA frame that was cut */
    unsigned cut_n;
    uint64_t number;               /* of this thread's, from 1 */
    connection_reset_cb *on_reset; /* NULL: nobody asks */
    void *on_reset_arg;
    char *rest; /* what came after the request under way */
    size_t rest_n;
};

struct connections {
    struct wire *wire;
    struct addresses *addresses;
    struct list rechecks; /* HTTP/1, whose request has ended: libh2o may read again */
    h2o_timeout_entry_t recheck_soon;
    struct deadline recheck_later; /* those of HTTP/2 that had to wait */
    struct list writers;           /* those of HTTP/2 that write: libh2o may read on after it */
    struct connection *current;    /* libh2o is at work on it; NULL once it is gone */
    struct refusal refusal;
    size_t connection_n;
    uint64_t accepted_n;                /* ever */
    size_t held_bytes, anonymous_bytes; /* of bodies */
    size_t unread_bytes;                /* of answers */
    struct list unread;                 /* struct unread, oldest first */
    size_t stream_bytes;                /* of all connections */
    size_t left_bytes; /* that anonymous clients left in the heap since it was trimmed */
    struct deadline trim;
    uint64_t trim_soon_ms;
    unsigned begun_n;              /* requests of HTTP/2 in this millisecond */
    unsigned unread_n;             /* of all connections */
    struct list handshakes;        /* of TLS */
    unsigned handshake_messages_n; /* of TLS, in this pass of the loop */
    bool is_full;                  /* accepting waits for room */
    uint64_t silent_ms;            /* so long one that has not asked yet is left alone */
};

/* Named in the log by its descriptor. */
void connection_move(struct connection *c, enum connection_state to);
/* Passes what was read, or the error, to libh2o. Returns false if the connection is gone. */
bool connection_pass(struct connection *c, const char *error) must_check;

/* The same for a request that is refused: it is answered during the call. */
void connection_pass_refused(struct connection *c, struct refusal refusal);
struct refusal connection_refusal(enum err error, const char *detail);
/* Reads the head at the start of the input if it is complete. */
void connection_take_head(struct connection *c);
/* The same for the preface of HTTP/2. */
void connection_take_preface(struct connection *c);
/* Cuts the input at `end`; the rest is restored when libh2o continues to read. */
void connection_push_back(struct connection *c, size_t end);
/* Soon checks whether libh2o reads again. */
void connection_recheck(struct connection *c);
/* Closes an idle connection: immediately (returns true) or soon. */
bool connection_close_idle(struct connection *c);
/* Reads a bounded number of bytes once. Returns true if bytes were read or the connection ended,
 * which sets *error. */
bool connection_read(struct connection *c, const char **error) must_check;
/* HTTP/1: passes received parts of a chunked body to libh2o. */
void connection_take_chunks(struct connection *c);
/* An idle connection may be closed to make room. */
void connection_set_idle(struct connection *c, bool is_idle);

/* Gives the buffer room for `bytes` in total. libh2o would double a full buffer, which takes up to
 * twice that and leaves the smaller ones in the heap. */
void connection_make_room(h2o_buffer_t **buffer, size_t bytes);
/* Sets the bytes held for `c` to `bytes`; returns false if that is too much for the node or the
 * address. Reducing them always succeeds. */
bool connection_charge(struct connection *c, size_t bytes, bool is_authenticated) must_check;
/* The same for a request's body, until the request ends; without an account it counts as
 * anonymous. */
void connection_hold(struct exchange *x, size_t bytes);

/* TLS: begins the handshake, after which libh2o has the connection. */
void connection_secure(struct connection *c, struct tls *tls);
/* TLS: the connection will end without an alert that says so. Does nothing without TLS. */
void connection_omit_goodbye(struct connection *c);
/* When the socket is closed, the kernel discards what is unsent and resets the connection. */
void connection_reset_at_close(struct connection *c);
/* TLS: continues with the handshake as far as what was received allows. `c` may be gone afterwards.
 */
void connection_shake_hands(struct connection *c);
/* At the end: what is not libh2o's yet is closed. */
void connections_end_handshakes(struct connections *all);
/* The socket is gone. Does nothing without TLS. */
void connection_free_tls(struct connection *c);
/* Replaces libh2o's read callback, if it has set one, by ours. */
void connection_take_over_reads(struct connection *c);
/* Sends a few bytes where libh2o has nothing to write; what fails is noticed later. */
void connection_send_now(struct connection *c, const char *bytes, size_t n);

/* HTTP/2: stops reading until all refused requests are answered and everything is written. */
void connection_pause(struct connection *c);
/* HTTP/2: libh2o writes, or is about to. */
bool streams_write(const struct connection *c) must_check;
/* An anonymous client has freed `bytes` of heap: once enough are free, pages are
 * returned to the system. */
void connections_free_later(struct connections *all, size_t bytes);
/* For connection.c: sets up `trim`. */
void connections_init_held(struct connections *all);

/* For connection.c: sets up `many_streams`. */
void streams_init(struct connection *c);
/* HTTP/2: passes what was read to libh2o and applies the limits to incoming bodies. */
void streams_advance(struct connection *c);
/* HTTP/2: keeps the next write of an anonymous connection small if nothing is queued yet. */
void streams_write_little(struct connection *c);

/* HTTP/2, before libh2o sees what was read: turns the received part of an unfinished DATA frame
 * into a complete frame, and stores in `cut` the header of the rest, which starts the next read. */
void frames_cut(struct connection *c);
/* Returns where the first `heads_n` requests, with what follows them, end in the input. */
size_t frames_end_of_heads(const struct connection *c, unsigned heads_n) must_check;
/* Looks for streams that the client resets: libh2o does not say that it has forgotten them, nor
 * which answers were not wanted any more before they were written. */
void frames_note_resets(struct connection *c);
/* HTTP/2: whether the client has reset the stream while its answer was being written. */
bool frames_have_reset(const h2o_req_t *h2o) must_check;
/* The id of a request's stream; 0 with HTTP/1. */
uint32_t frames_stream_of(const h2o_req_t *h2o) must_check;

#endif
