/* SPDX-License-Identifier: MIT
 *
 * connection_internal: what connection.c, connection_head.c, connection_held.c, connection_read.c,
 * connection_room.c, streams.c and frames.c share of a connection. Private to shared/http; on the
 * loop's thread.
 */
#ifndef PARLEY_HTTP_CONNECTION_INTERNAL_H
#define PARLEY_HTTP_CONNECTION_INTERNAL_H

#include "shared/http/addresses.h"
#include "shared/http/connection.h"

enum connection_state {
    CONNECTION_HEAD,   /* HTTP/1: a head, or the preface of HTTP/2, is awaited or unfinished */
    CONNECTION_BODY,   /* HTTP/1: a body of known length is read */
    CONNECTION_CHUNKS, /* HTTP/1: a body in chunks is read */
    CONNECTION_HTTP2,
    CONNECTION_GIVEN, /* somebody else's, as a WebSocket's */
    CONNECTION_NR
};

/* The least that is read at a time. */
enum { CONNECTION_READ_LEAST_BYTES = 1 << 10 };
/* A body of unknown length gets room for all that it may become once it is larger than this. */
enum { CONNECTION_GROWING_BYTES = 4 << 10 };

/* HTTP/2: answers that any connection of a stranger may leave unread. */
enum { UNREAD_AT_LEAST = 4 };

struct connection {
    struct idle_link idle;
    struct connections *all;
    h2o_socket_t *socket;
    h2o_socket_cb on_read; /* libh2o's */
    struct address *address;
    struct connection *next_look, **look_link; /* look_link == NULL: not on that list */
    struct request *request;                   /* HTTP/1: under way */
    unsigned busy_n;                           /* requests under way */
    unsigned scan_n;                           /* of the unfinished head */
    enum connection_state state;
    bool has_asked;        /* a request of it has begun */
    bool is_proven;        /* its last request was */
    bool is_body_proven;   /* the body that is read now is */
    bool is_suspect;       /* HTTP/2: it has kept many unproven streams open */
    bool is_paused;        /* HTTP/2: see connection_pause */
    unsigned unanswered_n; /* HTTP/2: refused requests */
    unsigned unread_n;     /* HTTP/2: answers to strangers, not written */
    struct connection *next_settle, **settle_link; /* settle_link == NULL: not on that list */
    size_t head_n;                                 /* HTTP/1, of the request under way */
    size_t most_n;                /* input bytes up to which its body is taken; of BODY: its end */
    size_t charged;               /* bytes that are held for bodies still on their way */
    struct deadline many_streams; /* HTTP/2: how long they may stay */
    size_t stream_bytes;          /* HTTP/2: what its unproven streams cost */
    size_t header_table_bytes;    /* HTTP/2: of answers, once its sender is proven */
    uint64_t accepted_ms;
    size_t room_bytes; /* HTTP/2: allocated for bodies, while they are judged */
    size_t room_left;  /* HTTP/2: read no more than this, if it is not too little for a read */
    uint8_t cut[10];   /* HTTP/2: the header of what is to come of a DATA frame that was cut */
    unsigned cut_n;
    char *rest; /* what came after the request under way */
    size_t rest_n;
};

struct connections {
    struct server *server;
    struct addresses *addresses;
    struct connection *looks; /* HTTP/1, whose request has ended: libh2o may read again */
    h2o_timeout_entry_t look_soon;
    struct deadline look_later; /* those of HTTP/2 that had to wait */
    struct connection *settles; /* those of HTTP/2 that write: libh2o may read on after it */
    struct connection *current; /* libh2o is at work on it; NULL once it is gone */
    struct refusal refusal;
    size_t connection_n;
    size_t held_bytes, unproven_bytes; /* of bodies */
    size_t stream_bytes;               /* of all connections */
    size_t left_bytes;                 /* that strangers left in the heap since it was trimmed */
    struct deadline trim;
    uint64_t trim_soon_ms;
    unsigned begun_n;   /* requests of HTTP/2 in this millisecond */
    unsigned unread_n;  /* of all connections */
    bool is_full;       /* accepting waits for room */
    uint64_t silent_ms; /* so long one that has not asked yet is left alone */
};

/* Named in the log by its descriptor. */
void connection_move(struct connection *c, enum connection_state to);
/* Gives libh2o what was read, or the error. False: the connection is gone. */
bool connection_pass(struct connection *c, const char *error) must_check;

/* The same while a request starts that is refused: it is answered in there. */
void connection_pass_refused(struct connection *c, struct refusal refusal);
struct refusal connection_refusal(enum err error, const char *detail);
/* Reads the head at the start of the input, if it is whole. */
void connection_take_head(struct connection *c);
/* Cuts the input at `end`; what follows is taken back when libh2o reads on, or (look_again) soon.
 */
void connection_put_aside(struct connection *c, size_t end);
void connection_look_again(struct connection *c);
/* Ends an idle connection: at once (true), or soon. */
bool connection_close_idle(struct connection *c);
/* Reads once, a bounded number of bytes. True: they came, or the end, which sets *error. */
bool connection_read(struct connection *c, const char **error) must_check;
/* HTTP/1: gives libh2o what came of a body in chunks. */
void connection_take_chunks(struct connection *c);
/* An idle connection may be closed to make room. */
void connection_set_idle(struct connection *c, bool is_idle);

/* Gives the buffer room for `bytes` in all. libh2o doubles one that is full, which takes up to
 * twice that, and leaves the smaller ones in the heap. */
void connection_make_room(h2o_buffer_t **buffer, size_t bytes);
/* Makes `bytes` what is held for `c`, and returns false when that would be too much for the node or
 * the address. Less always succeeds. */
bool connection_charge(struct connection *c, size_t bytes, bool is_proven) must_check;
/* The same for a request's body, until its end; it counts as a stranger's without an account. */
void connection_hold(struct request *r, size_t bytes);

/* HTTP/2: reads no more until all refused requests have their answers, and until that and all else
 * is written. */
void connection_pause(struct connection *c);
/* HTTP/2: libh2o writes, or is about to. */
bool streams_write(const struct connection *c) must_check;
/* A stranger leaves `bytes` of the heap free: once these are many, free pages are given back to the
 * system. */
void connections_free_later(struct connections *all, size_t bytes);
/* For connection.c: sets up `trim`. */
void connections_init_held(struct connections *all);

/* For connection.c: sets up `many_streams`. */
void streams_init(struct connection *c);
/* HTTP/2: gives libh2o what was read, and judges the bodies that are on their way. */
void streams_advance(struct connection *c);
/* HTTP/2: makes the next write of a stranger's connection a small one, if it is empty yet. */
void streams_write_little(struct connection *c);

/* HTTP/2, before libh2o sees what was read: makes what has come of an unfinished DATA frame a whole
 * one, and `cut` the header of the rest, which the next read begins with. */
void frames_cut(struct connection *c);
/* Where the first `heads_n` requests and what follows them end in what was read. */
size_t frames_end_of_heads(const struct connection *c, unsigned heads_n) must_check;

#endif
