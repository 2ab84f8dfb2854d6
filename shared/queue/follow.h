/* SPDX-License-Identifier: MIT
 *
 * follow: follows one query to its outcome for an event stream, a WebSocket or any other reader. It
 * knows no request and no transport; it passes what it reads to the callbacks of struct
 * follow_events. The owner checks first that the query exists and may be read. Lives in its owner.
 * All on the thread of the queue's loop.
 *
 *     follow_init(&f, queue, &events, seen);
 *     follow_watch(&f, topic, seq);      before the verb that looks for the query, or after it
 *     follow_start(&f);                  the query is there
 *     follow_resume(&f);                 each time that the reader is ready again
 *     follow_fini(&f);
 *
 * Messages bring the pieces (struct watch). What is stored is read at the start, and when a message
 * was missed. Pieces that come while the reader is not ready are kept, 72 KiB of them; more are
 * read when it is ready (is_ready), one page at a time: a slow reader costs no more here.
 * Ids of thoughts and texts rise strictly, and a reader that reconnects with one continues after
 * it, on any node, also within a piece. The texts of FOLLOW_ANSWER since the last restart or reset,
 * joined, equal the texts of the stored answer, separated by newlines.
 */
#ifndef PARLEY_QUEUE_FOLLOW_H
#define PARLEY_QUEUE_FOLLOW_H

#include "shared/queue/queue.h"

enum { FOLLOW_TEXT_MAX_BYTES = 4 << 20 };

enum follow_kind {
    FOLLOW_THINK,
    FOLLOW_ANSWER,
    FOLLOW_DELTA, /* with takes_deltas only; what is given then is all there is */
    FOLLOW_RESET, /* the whole answer so far: the text given before is not a prefix of it */
    FOLLOW_NR
};

enum follow_state {
    FOLLOW_FRESH,   /* before follow_start */
    FOLLOW_WAITING, /* for news, or for its reader */
    FOLLOW_READING, /* Redis is asked */
    FOLLOW_OVER
};

struct follow;

/* Only is_ready may run before follow_start has returned. Only on_end may call follow_fini. */
struct follow_events {
    /* More text, valid inside the call only. `id`: of its end; FOLLOW_RESET has none. */
    void (*on_piece)(struct follow *follow, enum follow_kind kind, struct str text,
                     struct piece_id id);
    /* Another claim has begun: discard the texts of the one before it, including thoughts. */
    void (*on_restart)(struct follow *follow);
    /* The claim whose texts were given has ended without an answer, and no other one has begun. May
     * be NULL. */
    void (*on_lost)(struct follow *follow);
    /* The same, but the texts stay: the next claim continues them if its engine can, or else begins
     * again. Of deltas only. May be NULL. */
    void (*on_paused)(struct follow *follow);
    /* Still Open, `position` queries would be served before it. `eta`: seconds, or "null". */
    void (*on_position)(struct follow *follow, uint64_t position, struct str eta);
    /* Everything available has been given. May be NULL. */
    void (*on_given)(struct follow *follow);
    /* Runs once, after all texts: Done, Failed or Cancelled; NULL: the query no longer exists.
     * Nothing runs after it. */
    void (*on_end)(struct follow *follow, const struct outcome *outcome);
    /* Returns whether the reader can take more. If not, the owner calls follow_resume later. NULL:
     * always. */
    bool (*is_ready)(struct follow *follow);
    /* Something may have changed, or the node drains: the owner calls follow_check or ends. NULL:
     * follow checks automatically. */
    void (*on_changed)(struct follow *follow);
};

struct follow {
    const struct follow_events *events;
    struct queue *queue;
    struct watch watch;
    struct call check;
    struct deadline again;  /* after a check that failed while Redis was there */
    struct piece_id id;     /* of the last piece read */
    struct piece_id told;   /* of the last one that is kept, or was too much; zeroed: none */
    struct piece_id stored; /* how far it is stored, as messages say since the last check */
    struct piece_id seen;   /* what the reader has already */
    struct buf kept;        /* as piece_put puts them */
    struct buf answer;      /* the answer's text in this claim so far */
    uint64_t position;      /* last given, plus 1 */
    enum follow_state state;
    uint64_t number; /* for the log of its states */
    bool has_text, is_again;
    /* Set by the owner before follow_start. Others than doors read the text of a door's answer at
     * its end. */
    bool takes_deltas;
    bool skips_position; /* which costs Redis time: set and reset by the owner at any time */
    bool has_deltas;     /* that were given, of this claim */
};

/* `queue` and `events` are borrowed. `seen`: what the reader already has, from another follow of
 * the same query. */
void follow_init(struct follow *follow, struct queue *queue, const struct follow_events *events,
                 struct piece_id seen);
/* Accepts a follow that was zeroed and never initialised. */
void follow_fini(struct follow *follow);

/* Listens for the query. `topic` (a name) is borrowed and must outlive the follow. It may be called
 * before or after the verb that registers this node: no outcome is missed, because follow_start
 * checks first. */
void follow_watch(struct follow *follow, struct str topic, uint64_t seq);
/* Reads what is available and continues to the end. */
void follow_start(struct follow *follow);
/* Continues if data is waiting for the reader. */
void follow_resume(struct follow *follow);
/* Reads new data, if any, as soon as the reader is ready. */
void follow_check(struct follow *follow);
/* Ends it without on_end or further data. */
void follow_stop(struct follow *follow);

/* Returns whether the reader has reconnected for the rest. */
bool follow_is_resumed(const struct follow *follow);
/* The reader's id does not belong to this query: give it everything. Call it before
 * follow_start. */
void follow_forget_seen(struct follow *follow);

#endif
