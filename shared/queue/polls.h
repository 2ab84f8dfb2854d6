/* SPDX-License-Identifier: MIT
 *
 * polls: what the files of one node's polls share, and the queue's events and timers call. A poll
 * looks for work and parks (poll.c); polls that are alike to the scripts are a class
 * (poll_class.c); each that is parked is a credit on some shard (poll_credits.c); a claim goes to
 * the class's oldest one (poll_handover.c), which may also take what is on another shard
 * (poll_move.c). On the loop's thread.
 */
#ifndef PARLEY_QUEUE_POLLS_H
#define PARLEY_QUEUE_POLLS_H

#include "shared/queue/queue_internal.h"

struct poll_list {
    struct poll *first, *last;
    unsigned n;
};

/* Where a claim comes from, and whether it used up a credit there: else one is taken back. */
struct origin {
    unsigned shard;
    bool used_credit;
};

struct early {
    struct origin origin;
    struct buf text;
};

/* Polls that are alike to the scripts: one account, one list of models. Engines choose their lists,
 * so a class that nothing refers to any more is freed after the next sync. */
struct poll_class {
    struct queue *queue;
    struct poll_class *next;
    char *name; /* "<account>|<models>"; "<account>|?" of polls for lookups */
    size_t name_n, account_n;
    struct poll_list parked, claiming; /* oldest first */
    unsigned left_n;                   /* claims under way whose polls were cancelled meanwhile */
    enum work work;
    bool is_drained;     /* the account gets no claims: its polls are held without credit */
    struct early *early; /* hand-overs that came before the poll's own reply */
    unsigned early_n;
    uint64_t told;     /* shards that may hold credits of it, a bit each: none are stated, too */
    uint64_t hinted;   /* shards that hold its hint */
    uint64_t polled;   /* shards to which it is not stated yet that it polled, or got work there */
    unsigned moving_n; /* parked polls for which another shard is asked: they are no credits */
    unsigned rotor;    /* where the next poll begins to look */
    unsigned credit_n; /* of all shards; of a class that is not drained as many as are parked */
    unsigned *credits; /* by shard: what each may hand over */
    unsigned *looks;   /* by shard: claims under way there, which take what is Open first */
    uint64_t *leases;  /* by shard: the latest claim there, until it is stated; 0: none */
};

/* --- poll.c ----------------------------------------------------------------------------------- */

void polls_on_supersede(struct queue *queue, struct lines *rest);

/* --- poll_class.c ----------------------------------------------------------------------------- */

static inline struct str class_name(const struct poll_class *class)
{
    return (struct str){class->name, class->name_n};
}
static inline struct str class_account(const struct poll_class *class)
{
    return (struct str){class->name, class->account_n};
}
/* NULL when there is none of that name. */
struct poll_class *class_find(struct queue *queue, struct str name);
/* Makes it if need be. */
struct poll_class *class_get(struct queue *queue, struct str account, struct str models);
/* Parked polls that no other shard is asked for: as many credits as there are to be. A hand-over
 * may have taken a poll that was moving. */
static inline unsigned class_idle_n(const struct poll_class *class)
{
    return class->is_drained || class->parked.n <= class->moving_n
               ? 0
               : class->parked.n - class->moving_n;
}
/* An engine of the class polls: the syncs of all shards are to say so (lua/queue/fallback.lua). */
void class_note_poll(struct poll_class *class);
/* One got that claim of the shard: it is at work. */
void class_note_work(struct poll_class *class, unsigned shard, const struct claim *claim);
/* May it have polls or credits on that shard? Lookups are all on the cluster's. */
static inline bool class_is_at(const struct poll_class *class, unsigned shard)
{
    return shard == 0 || class->work == WORK_QUERIES;
}
/* Does it take queries for that model? */
bool class_takes_model(const struct poll_class *class, struct str model);
void polls_put_last(struct poll_list *list, struct poll *poll);
void polls_take_off(struct poll_list *list, struct poll *poll);
/* Writes `first`, `between` and `second`; 0 when they do not fit. */
size_t polls_join(char *at, size_t size, struct str first, char between, struct str second);
/* These accounts (names, by commas) get no claims. */
void polls_on_drained(struct queue *queue, struct str names);
/* Frees the classes without a poll, a claim or a credit, except some whose next poll would have to
 * state its hints again. Never inside a poll's callback. */
void polls_forget_unused(struct queue *queue);
void polls_fini(struct queue *queue);

/* --- poll_credits.c --------------------------------------------------------------------------- */

void polls_set_state(struct poll *poll, enum poll_state to);
void polls_park(struct queue *queue, struct poll *poll);
void polls_unlink_parked(struct queue *queue, struct poll *poll);
/* Where the next credit is to be: of the shards that can be used, without `but` (a bit each), the
 * one with fewest; SHARDS_MAX when there is none. Lookups are all on the cluster's shard. */
unsigned credits_least_shard(const struct poll_class *class, uint64_t but);
/* A script has granted one. */
void credits_note(struct poll_class *class, unsigned shard);
/* A hand-over used one up. False when it is not known yet: the reply that grants it is on its way.
 */
bool credits_use(struct poll_class *class, unsigned shard);
/* Takes back what is too many: a poll has ended, or got a claim that used up none. */
void credits_settle(struct poll_class *class);
/* Grants those that the class lacks: the next sync of their shards states them. */
void credits_grant_missing(struct poll_class *class);
/* The connection of that shard's turn is lost. */
void polls_on_lost(struct queue *queue, unsigned shard);
/* A connection to that shard stands again: without the bus this node may have been struck off. */
void polls_on_up(struct queue *queue, unsigned shard);

/* --- poll_handover.c -------------------------------------------------------------------------- */

/* Gives a claim to a poll that is idle, and alive. */
void handover_deliver(struct poll *poll, struct claim *claim);
/* Gives a claim, as text, to a parked poll of the class, keeps it for one that is claiming, or
 * gives it back. `class` may be NULL. */
void handover_take(struct queue *queue, struct poll_class *class, struct origin origin,
                   struct str claim_text);
/* A claiming poll of the class knows its fate: hand-overs that came too early are tried again. */
void handover_retry(struct queue *queue, struct poll_class *class);
void polls_on_claim_event(struct queue *queue, struct origin origin, struct str claim_text);

/* --- poll_move.c ------------------------------------------------------------------------------ */

/* What a class asks of a shard for itself, or for a poll that was cancelled meanwhile. */
struct move;
struct move *move_new(struct poll_class *class, unsigned shard, bool is_look);
/* For call_leave: what the claim of a cancelled poll took, or was granted, is the class's. */
void move_on_orphan(void *move, enum err error, struct str reply);
/* The other shards call this node, from here on, to queries that the class may take. */
void move_state_hints(struct poll_class *class, unsigned but);
/* A query for a model waits on that shard: one of our polls may take it. */
void polls_on_work(struct queue *queue, unsigned shard, struct lines *rest);
/* Polls have parked, or have moved in vain: calls that came too early are looked at again. */
void move_retry_calls(struct queue *queue);

#endif
