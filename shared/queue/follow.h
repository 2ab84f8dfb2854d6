/* SPDX-License-Identifier: MIT
 *
 * follow: one query, read as it is answered, to its outcome: for an event stream, a WebSocket, or
 * whatever shows it to somebody. It knows no request and no transport; what it reads it gives to
 * the callbacks of struct follow_events. It does not look whether the query is there or whose it
 * is: that is the owner's, before it starts. Lives in its owner. All on the thread of the queue's
 * loop.
 *
 *     follow_init(&f, queue, &events, seen);
 *     follow_watch(&f, topic, seq);      before the verb that looks for the query, or after it
 *     follow_start(&f);                  the query is there
 *     follow_resume(&f);                 each time that the reader is ready again
 *     follow_fini(&f);
 *
 * A reader that is slow costs nothing here: more is read only once it is ready (is_ready), one page
 * of pieces at a time. All that is given has an id, which only ever rises, and a reader that comes
 * back with one goes on after it, on any node. The texts of FOLLOW_ANSWER put together, from the
 * last restart or reset on, are the texts of the stored answer, one below the other.
 */
#ifndef PARLEY_QUEUE_FOLLOW_H
#define PARLEY_QUEUE_FOLLOW_H

#include "shared/queue/queue.h"

enum { FOLLOW_TEXT_MAX_BYTES = 4 << 20, FOLLOW_ID_BYTES = 48 };

/* A place in what is given: the claim of the query, counted from 1, and how far it has come.
 * Zeroed: before all. */
struct follow_id {
    uint64_t attempt, n;
};

/* `<attempt>-<n>`, in `bytes`. */
struct str follow_id_put(struct follow_id id, char bytes[FOLLOW_ID_BYTES]);
/* False, and *ret_id untouched, when `text` is no id. */
bool follow_id_parse(struct str text, struct follow_id *ret_id) must_check;

enum follow_kind {
    FOLLOW_THINK,
    FOLLOW_ANSWER,
    FOLLOW_RESET, /* the whole answer so far: what was given of it is not the beginning of it */
    FOLLOW_NR
};

enum follow_state {
    FOLLOW_FRESH,   /* before follow_start */
    FOLLOW_WAITING, /* for news, or for its reader */
    FOLLOW_READING, /* Redis is asked */
    FOLLOW_OVER
};

struct follow;

/* None but is_ready runs before follow_start has returned. Only on_end may call follow_fini. */
struct follow_events {
    /* More text, valid inside the call only. */
    void (*on_piece)(struct follow *follow, enum follow_kind kind, struct str text,
                     struct follow_id id);
    /* An attempt was lost: its texts, thoughts too, are void. */
    void (*on_restart)(struct follow *follow, struct follow_id id);
    /* Still Open, `position` queries would be served before it. `eta`: seconds, or "null". */
    void (*on_position)(struct follow *follow, uint64_t position, struct str eta);
    /* All that there is for now was given. NULL: nothing to do. */
    void (*on_given)(struct follow *follow);
    /* Once, after its texts: Done, Failed or Cancelled; NULL: the query is no longer there. Nothing
     * runs after it. */
    void (*on_end)(struct follow *follow, const struct outcome *outcome, struct follow_id id);
    /* Has the reader taken what it was given? If not, the owner calls follow_resume later. NULL: it
     * always has. */
    bool (*is_ready)(struct follow *follow);
    /* Something may have changed, or the node drains: the owner calls follow_look, or ends. NULL:
     * it is looked for. */
    void (*on_changed)(struct follow *follow);
};

struct follow {
    const struct follow_events *events;
    struct queue *queue;
    struct watch watch;
    struct call look;
    struct deadline again; /* after a look that failed while Redis was there */
    struct follow_id id;   /* of the last piece read */
    struct follow_id seen; /* what the reader has already */
    struct buf answer;     /* its text in this attempt so far */
    uint64_t position;     /* last given, plus 1 */
    enum follow_state state;
    uint64_t number; /* for the log of its states */
    bool has_text, is_again;
};

/* `queue` and `events` are borrowed. `seen`: what the reader has already, from another follow of
 * the same query. */
void follow_init(struct follow *follow, struct queue *queue, const struct follow_events *events,
                 struct follow_id seen);
/* Accepts a follow that was zeroed and never initialised. */
void follow_fini(struct follow *follow);

/* Listens for the query. `topic` (a name) is borrowed and lives as long as the follow. Set before
 * the verb that registers this node no outcome is missed; set after it none either, since
 * follow_start looks first. */
void follow_watch(struct follow *follow, struct str topic, uint64_t seq);
/* Reads what there is and goes on from there to the end. */
void follow_start(struct follow *follow);
/* Goes on, if something waits for the reader. */
void follow_resume(struct follow *follow);
/* Reads what is new, if there is anything, as soon as the reader is ready. */
void follow_look(struct follow *follow);
/* Ends it without on_end; nothing is given any more. Returns the id of a last event that the owner
 * gives in its place. */
struct follow_id follow_stop(struct follow *follow);

/* Does the reader come back for the rest? */
bool follow_is_resumed(const struct follow *follow);
/* What the reader has is no part of this query: it is given all of it. Before follow_start. */
void follow_forget_seen(struct follow *follow);

#endif
