/* SPDX-License-Identifier: MIT
 *
 * delivery: one delivery as the node that holds it sees it, between what is stored. For dispatch/
 * only: dispatcher.c makes it, slots.c says when its bot may be called, attempt.c calls it,
 * ending.c stores that there is no reply, takeover.c brings it here and keeps it. On the loop's
 * thread.
 */
#ifndef PARLEY_SERVICES_BOTS_DELIVERY_H
#define PARLEY_SERVICES_BOTS_DELIVERY_H

#include "services/bots/bots.h"
#include "services/bots/dispatch/bot_vacancy.h"
#include "services/bots/dispatch/call.h"
#include "services/bots/rooms/message.h"
#include "shared/lease/leases.h"
#include "shared/op/fair_slots.h"

enum {
    DISPATCH_HELD_MAX = 1000, /* that wait for a call; for a question; that rest */
    DISPATCH_CALLS_MAX = 64,
    DISPATCH_CALLS_OF_BOT = 8,
    DELIVERY_ID_MAX_BYTES = 4 + ROOM_ID_BYTES + 1 + MESSAGE_ID_MAX_BYTES + 1 + STR_U64_MAX,
    DELIVERY_ATTEMPTS = 5,
    /* Since the message: no attempt begins after the first, and every one is over by the second,
     * so that a notice is in the room within 75 s. */
    DELIVERY_CALL_MS = 70000,
    DELIVERY_OVER_MS = 74000,
};

enum delivery_state {
    DELIVERY_WAITING,   /* for a slot */
    DELIVERY_FINDING,   /* the bot is looked up */
    DELIVERY_BEGINNING, /* the attempt is stored */
    DELIVERY_READING,   /* the room is read */
    DELIVERY_CALLING,   /* the bot is called */
    DELIVERY_RESTING,   /* until the next attempt, or until the queue has room for its question */
    DELIVERY_REPLYING,  /* its reply is stored */
    DELIVERY_ENDING,    /* that there is none is stored, with or without a notice */
    DELIVERY_ENDED
};

enum delivery_outcome {
    OUTCOME_REPLIED,
    OUTCOME_SILENT,
    OUTCOME_ACCEPTED,
    OUTCOME_FAILED,
    OUTCOME_LOST,
    OUTCOME_NR
};

struct posting;

struct delivery {
    struct lease lease;
    struct dispatcher *dispatcher;
    enum delivery_state state;
    uint64_t number;      /* for the log of its states */
    struct str room;      /* inside its id */
    char *bot;            /* a name; own memory, as the next two */
    char *account, *user; /* whose turn it takes: names, that of the user as a digest */
    unsigned attempt;     /* that have begun */
    unsigned tries;       /* of a bot whose circuit is half open */
    uint64_t since_ms;    /* of the message: clock_mono_ms, as far as it is known */
    struct call call;
    struct deadline deadline; /* WAITING: the time to call is over; RESTING: until when */

    /* slots.c: */
    struct fair_entry entry;
    struct peer *peer; /* its bot; NULL: it neither waits for a slot nor has one */
    bool is_model; /* it asks a question: the queue's turns decide, and it takes no call's slot */

    /* From FINDING on: the reply of bot_find, own memory, and what it says, borrowed from it. */
    char *found;
    struct bot_target target;
    struct bot_call *running;
    struct bot_vacancy vacancy;
    struct posting *posting;
    bool is_counted;               /* the bot's circuit is informed of its outcome */
    enum delivery_outcome outcome; /* of ENDING */
};

struct dispatcher {
    struct bots *bots;
    struct leases leases;
    size_t resting_n;
    struct fair_slots *calls, *questions; /* of bots with an endpoint; of those that are models */
    struct list peers;                    /* struct peer: bots with deliveries here */
    void (*begin)(struct delivery *delivery); /* of one that has got a slot */
    bool is_starting;                         /* inside slots_fill */
};

static inline struct str delivery_id(const struct delivery *delivery)
{
    return str_of(delivery->lease.id);
}
static inline struct loop *delivery_loop(const struct delivery *delivery)
{
    return delivery->dispatcher->leases.loop;
}
static inline struct shards *delivery_shards(const struct delivery *delivery)
{
    return delivery->dispatcher->leases.shards;
}

/* --- delivery.c --- */

void delivery_move(struct delivery *delivery, enum delivery_state to);
/* Frees it. `is_final`: nobody needs the bot's answer any more. */
void delivery_finish(struct delivery *delivery, enum delivery_outcome outcome, bool is_final);
/* Another node has it, or it is over: nothing is stored. */
void delivery_drop(struct delivery *delivery);

/* --- attempt.c --- */

/* It waits for a slot, for as long as it may. */
void delivery_wait(struct delivery *delivery);
/* It has got a slot. */
void delivery_begin(struct delivery *delivery);

/* --- ending.c --- */

struct str delivery_username(const struct delivery *delivery);
/* Informs the registry, once per delivery; that may be lost. */
void delivery_count_for_circuit(struct delivery *delivery, bool is_good);
/* Ends with a notice, without counting it for the bot's circuit. */
void delivery_give_up(struct delivery *delivery, struct str reason);
/* The same, and counts it. */
void delivery_fail(struct delivery *delivery, struct str reason);
/* The bot has nothing to say. */
void delivery_end_silent(struct delivery *delivery);

/* --- slots.c --- */

void slots_init(struct dispatcher *dispatcher);
void slots_fini(struct dispatcher *dispatcher);
/* It waits for its turn. */
void slots_wait(struct delivery *delivery);
/* It does not wait any more, or gives its slot back. */
void slots_leave(struct delivery *delivery);
/* Begins as many as there are slots for. If too many are left, drops the newest of those who have
 * the most, which may be the caller's. */
void slots_fill(struct dispatcher *dispatcher);

/* --- notice.c --- */

/* Puts the text of a notice: "<username> <reason>." */
enum { NOTICE_MAX_BYTES = 1024 };
void notice_put(struct buf *b, struct str username, struct str reason);

/* --- takeover.c --- */

extern const struct lease_kind delivery_leases;

/* --- metrics.c --- */

void dispatch_count_outcome(enum delivery_outcome outcome);
void dispatch_count_attempt(void);
void dispatch_count_held(int delta);
void dispatch_count_calls(int delta);

#endif
