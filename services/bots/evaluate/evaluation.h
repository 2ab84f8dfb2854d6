/* SPDX-License-Identifier: MIT
 *
 * evaluation: one evaluation as its driver holds it, between what is stored. For evaluate/ only:
 * evaluation.c says whose turn it is, attempt.c calls the bot, compare.c finds the distance of its
 * answer, store.c stores the turn, record.c writes what is stored and reads it again, takeover.c
 * brings runs here and keeps them. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_BOTS_EVALUATE_EVALUATION_H
#define PARLEY_SERVICES_BOTS_EVALUATE_EVALUATION_H

#include "services/bots/bots.h"
#include "services/bots/dispatch/bot_vacancy.h"
#include "services/bots/dispatch/call.h"
#include "services/bots/evaluate/conversation.h"
#include "services/bots/evaluate/measure.h"
#include "services/bots/evaluate/statistics.h"
#include "shared/embed/embed.h"
#include "shared/lease/leases.h"
#include "shared/op/fair_slots.h"

enum {
    EVALUATIONS_MAX = 32, /* that a node drives at a time: a conversation of each is in memory */
    EVALUATIONS_WAITING_MAX = 168, /* for their turn */
    EVALUATIONS_RESTING_MAX = 200, /* with their bots, or while the queue is full */
    /* After that, others continue first: to read a conversation costs more than a call. A longer
     * rest is not waited for with it in memory. */
    EVALUATION_PIECE_MS = 2000,
    EVALUATION_DIGITS = 24,
    EVALUATION_ERROR_BYTES = 500,
    /* A turn as it is stored: 2,000 of them fit into what a run may store (lua/bots/evaluations).
     */
    EVALUATION_TURN_BYTES = 8000,
    EVALUATION_SUMMARY_BYTES = 4096
};

enum evaluation_state {
    EVALUATION_WAITING,   /* for its turn; without its conversation */
    EVALUATION_LOADING,   /* what is stored of it is read */
    EVALUATION_FINDING,   /* the bot is looked up, before each attempt */
    EVALUATION_CALLING,   /* the bot answers */
    EVALUATION_RESTING,   /* between two attempts, or until the queue has room for its question */
    EVALUATION_COMPARING, /* texts are embedded */
    EVALUATION_STORING,   /* a turn, or how it ends, is stored */
    EVALUATION_ENDED
};

/* Sums over the turns that are stored. */
struct evaluation_summary {
    struct statistics distances;
    uint64_t failed;
    uint64_t failed_in_row;                  /* up to the newest turn */
    char reason[EVALUATION_ERROR_BYTES + 1]; /* of a run that failed; "": none */
};

struct evaluation {
    struct lease lease; /* its id: <digits>-<n> */
    struct str digits;  /* inside its id */
    struct evaluations *all;
    enum evaluation_state state;
    uint64_t number; /* for the log of its states */
    uint64_t n;
    struct call call;
    char *account, *user; /* names: whose turn it takes */
    struct fair_entry entry;
    uint64_t granted_ms; /* clock_mono_ms: when it last got its turn */

    /* While it has its turn: */
    char *bot; /* a name */
    enum measure measure;
    struct conversation talk; /* empty: not read yet */
    struct evaluation_summary summary;

    /* The current turn: */
    unsigned at; /* from 0; as many as are stored */
    unsigned attempt;
    uint64_t began_ms; /* clock_mono_ms of its first attempt */
    struct bot_call *calling;
    struct deadline rest;
    struct bot_vacancy vacancy;
    char *answer;                           /* own memory; NULL: none yet */
    char error[EVALUATION_ERROR_BYTES + 1]; /* "": none */
    bool is_over;                           /* what is being stored is its end */

    /* While it is compared: */
    void (*on_compared)(struct evaluation *e);
    struct embedding *embedding;
    unsigned embedding_at; /* 0: the answer, then the originals */
    unsigned embedding_tries;
    float *vector; /* of the answer; own memory */
    uint32_t dimension;
    double distance;  /* the smallest so far */
    unsigned nearest; /* of that original, from 1; 0: none yet */
};

struct evaluations {
    struct bots *bots;
    struct http_client *client; /* for the embedding server, which the operator has chosen */
    struct leases leases;
    struct fair_slots *turns;
    size_t resting_n;
    bool is_filling;                     /* inside evaluations_fill */
    void (*begin)(struct evaluation *e); /* continues the one that has its turn */
};

/* --- evaluation.c --- */

/* A run that evaluation_begin or evaluation_take has leased to this node. `talk`, which may be
 * NULL, is taken over and emptied: otherwise the run is read from Redis. */
struct evaluation_start {
    struct str id;
    uint64_t fence;
    struct str account, user; /* names */
    struct str bot;           /* with `talk` */
    enum measure measure;
    struct conversation *talk;
};
/* It waits for its turn. If too many do, the newest of those who have the most is given back. */
void evaluations_start(struct evaluations *all, const struct evaluation_start *start);
void evaluation_move(struct evaluation *e, enum evaluation_state to);
/* Drops it without a word: whichever node takes it carries on. */
void evaluation_drop(struct evaluation *e);
/* Everything is read: continues with the turn `at`, or lets others continue first. */
void evaluation_go_on(struct evaluation *e);
/* The turn `at` begins, with its first attempt. */
void evaluation_begin_turn(struct evaluation *e);
/* It waits for its turn. */
void evaluation_wait(struct evaluation *e);
/* Others continue meanwhile: what it has read is read again when it is its turn. */
void evaluation_forget(struct evaluation *e);
/* Begins those whose turn it is, and gives back those for which there is no room. */
void evaluations_fill(struct evaluations *all);

/* --- attempt.c --- */

/* Calls the bot for the current turn, once more if the turn has had attempts. */
void evaluation_attempt(struct evaluation *e);

/* --- store.c --- */

/* Its answer was compared, or the turn failed (`error`): stores the turn. */
void evaluation_finish_turn(struct evaluation *e);
/* It cannot continue: stores that it ends. The turns that are stored stay. */
void evaluation_fail(struct evaluation *e, const char *reason);
/* As struct service's. */
void evaluation_put_metrics(struct buf *b);

/* --- compare.c --- */

/* Compares `answer` with the originals of the current turn, then calls `on_compared`, possibly
 * inside this function. */
void evaluation_compare(struct evaluation *e, void (*on_compared)(struct evaluation *e));
/* Ends that without a call. */
void evaluation_stop_comparing(struct evaluation *e);

/* --- record.c --- */

/* Puts the current turn: EVALUATION_TURN_BYTES at most. */
void record_put_turn(struct buf *b, const struct evaluation *e);
void record_put_summary(struct buf *b, const struct evaluation_summary *summary);
/* Reads it; what cannot be read is zero. */
void record_read_summary(struct str json, struct evaluation_summary *ret_summary);
/* A text that `b` has no room for, decoded or as it is, cut to `max` bytes of JSON. */
void record_put_text(struct buf *b, struct str text, size_t max);

/* --- takeover.c --- */

/* It has its turn, and is not read yet. */
void evaluation_load(struct evaluation *e);
extern const struct lease_kind evaluation_leases;

#endif
