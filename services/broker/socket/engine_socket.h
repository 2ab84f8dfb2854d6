/* SPDX-License-Identifier: MIT
 *
 * engine_socket: one engine's WebSocket. engine_socket.c has its life, engine_frames.c
 * reads frames, engine_replies.c the routes' answers to them; engine_asks.c has what all of them
 * need. On the loop's thread.
 */
#ifndef PARLEY_BROKER_ENGINE_SOCKET_H
#define PARLEY_BROKER_ENGINE_SOCKET_H

#include "services/broker/broker.h"
#include "services/broker/socket/engine_claims.h"
#include "services/broker/socket/engine_drafts.h"
#include "services/broker/socket/engine_owners.h"
#include "shared/base/trace.h"
#include "shared/http/request/inner.h"
#include "shared/http/websocket/websocket.h"

enum {
    ENGINE_SLOTS_MAX = ENGINE_POLLS_ALWAYS, /* no more than ENGINE_NAMES_MAX */
    ENGINE_FRAME_MAX_BYTES = 9 << 20,       /* an answer of 8 MiB and the text of its question */
    ENGINE_QUEUE_MAX_BYTES = ENGINE_SLOTS_MAX << 20, /* claims of all slots may come at once */
    ENGINE_FRAME_ID_MAX_BYTES = 64
};

enum engine_frame {
    FRAME_PARTIAL,
    FRAME_ANSWER,
    FRAME_EXTEND,
    FRAME_RELEASE,
    FRAME_REST,
    FRAME_NR
};

struct engine_socket {
    struct websocket *websocket;
    struct server *server;
    struct broker *broker;
    const struct account *account;
    struct engine_owner *owner; /* whose share of the polls it takes */
    struct engine_claims claims;
    struct engine_drafts drafts;
    struct buf think, answer; /* decoded texts of the frame that is read */
    unsigned slots;
    struct list polls;                    /* struct engine_ask: held */
    struct list asks;                     /* of frames, until they are answered */
    struct list answered;                 /* their frames are being written, or there was none */
    unsigned poll_n, ask_n;               /* of the first two */
    uint64_t names;                       /* of `polls`, a bit each */
    size_t body_bytes;                    /* of frames whose requests have not ended */
    struct deadline again;                /* looks at free slots, and ends what is answered */
    uint64_t rest_until_ms, poll_from_ms; /* no new poll begins before either */
    bool is_closing, is_paused, is_short; /* is_short: of polls, as its engine knows */
    char *peer, *engine, *query;          /* query: what all polls have */
};

/* A request of the node's own: a poll for a free slot, or a frame. */
struct engine_ask {
    struct list_link link;
    struct inner inner;
    struct engine_socket *socket;
    bool is_poll, has_claim; /* has_claim: it lasts until its frame is written */
    unsigned name;           /* of a poll, or of the claim that an answer ends */
    uint64_t since_ms;
    size_t body_n;
    /* For a frame: */
    enum engine_frame frame;
    bool is_one;     /* a release of one query */
    bool is_primed;  /* a piece of a draft (engine_drafts.h) */
    bool is_of_door; /* it has Deltas, which no draft holds */
    uint64_t seq;
    char id[ENGINE_FRAME_ID_MAX_BYTES + 1], lease[24]; /* as JSON; digits. "": none */
    char request_id[TRACE_REQUEST_ID_MAX + 1];         /* its RequestId; "": none */
};

/* --- engine_asks.c ---------------------------------------------------------------------------- */

/* Begins one in `polls` or `asks`; then engine_ask_start. */
struct engine_ask *engine_ask_begin(struct engine_socket *s, struct list *list);
/* Runs it; its callback may run inside. */
void engine_ask_start(struct engine_ask *ask, const char *method, struct str target,
                      struct str body);
/* Its answer has come. The request ends soon; one that brought a claim, once that is written. */
void engine_ask_finish(struct engine_ask *ask);
/* Reads further frames, or does not while too much is under way. */
void engine_socket_pace(struct engine_socket *s);

/* Fills free slots, after a pause. */
void engine_socket_fill_soon(struct engine_socket *s, uint64_t after_ms);
/* Takes no claims for so long, without the polls under way; 0: it takes some again. */
void engine_socket_rest(struct engine_socket *s, uint64_t rest_ms);
void engine_socket_set_slots(struct engine_socket *s, unsigned slots);
/* Puts the parameters of a poll: those of the socket, and a name for it. */
void engine_socket_put_poll(struct engine_socket *s, struct buf *b, unsigned name);
/* Puts the parameter Engine of a socket that has one, with that name; ENGINE_NAMES_MAX: none. */
void engine_socket_put_engine(const struct engine_socket *s, struct buf *b, unsigned name);
/* Sends a claim, a JSON object, and notes it under the name of the poll that brought it. */
void engine_socket_send_claim(struct engine_socket *s, struct str json, unsigned name);
void engine_socket_send(struct engine_socket *s, const struct buf *b);
/* Returns whether this response to a poll holds a claim. */
bool engine_socket_is_claim(struct str json);

/* The route's answer to a frame. */
void engine_reply(struct engine_socket *s, const struct engine_ask *ask, int status,
                  struct str body);
/* Says that text is stored up to `next`, to the frame with that Id. */
void engine_reply_stored(struct engine_socket *s, struct str id, uint64_t seq, struct str lease,
                         uint64_t next);
/* Says what is wrong with a frame that cannot be read. */
void engine_reply_fault(struct engine_socket *s, const char *detail);
/* Says once that slots get no claims, because the account has its share of this thread's polls. */
void engine_reply_short(struct engine_socket *s, unsigned waiting_n);
/* Ends the request. `is_taken`: its answer has reached the engine. */
void engine_ask_drop(struct engine_ask *ask, bool is_taken);
/* Ends those that are answered; those that brought a claim only if all is written. */
void engine_asks_sweep(struct engine_socket *s, bool is_written);
/* For the deadline `again`. */
void engine_slots_on_again(struct deadline *deadline);

struct engine_frame_info {
    const char *type, *method, *path;
};
extern const struct engine_frame_info engine_frames[FRAME_NR];

/* --- engine_replies.c ------------------------------------------------------------------------- */

/* The route's answer to a frame. */
void engine_ask_on_answer(struct inner *inner, int status, struct str body);

/* --- engine_frames.c -------------------------------------------------------------------------- */

/* Handles a frame of the engine. */
void engine_frames_take(struct engine_socket *s, struct str json);
/* Asks the route why a draft is not stored from `offset` on, and sends that. */
void engine_frames_refuse_draft(struct engine_socket *s, struct str topic_json, uint64_t seq,
                                struct str lease, uint64_t offset, struct str id);

#endif
