/* SPDX-License-Identifier: MIT
 *
 * polls: shared by the files that handle a node's polls, and called by the queue's events and
 * timers. A poll looks for work and parks (poll.c); polls that are equal for the scripts form a
 * class (poll_class.c); each parked poll is a credit on one shard (poll_credits.c); a claim goes to
 * the oldest poll of its class (poll_handover.c), which can also claim on another shard
 * (poll_move.c). On the loop's thread.
 */
#ifndef PARLEY_QUEUE_POLLS_H
#define PARLEY_QUEUE_POLLS_H

#include "shared/queue/queue_internal.h"

struct poll_list {
    struct poll *first, *last;
    unsigned n;
};

/* Where a claim comes from, and whether it used up a credit there; if not, one is taken back. */
struct origin {
    unsigned shard;
    bool used_credit;
};

struct early {
    struct origin origin;
    struct buf text;
};

/* Polls that are equal for the scripts: one account, one list of models. Engines choose their
 * lists, so an unused class is freed after the next sync. */
struct poll_class {
    struct queue *queue;
    struct poll_class *next;
    char *name; /* "<account>|<models>"; "<account>|?" of polls for lookups */
    size_t name_n, account_n;
    struct poll_list parked, claiming; /* oldest first */
    unsigned left_n;                   /* running claims whose polls were cancelled */
    enum work work;
    bool is_drained;     /* the account gets no claims: its polls are held without credit */
    struct early *early; /* hand-overs that came before the poll's own reply */
    unsigned early_n;
    uint64_t reported; /* shards that may hold credits of it, one bit each: zero is reported too */
    uint64_t hinted;   /* shards that hold its hint */
    uint64_t polled;   /* shards that do not know yet that it polled or got work there */
    unsigned moving_n; /* parked polls that are trying another shard: they are not credits */
    unsigned rotor;    /* where the next poll begins to look */
    unsigned credit_n; /* of all shards; of a class that is not drained as many as are parked */
    unsigned *credits; /* by shard: credits that each may hand over */
    unsigned *looks;   /* by shard: running claims, which take Open queries first */
    unsigned *passed;  /* by shard: looks elsewhere in a row while something was Open there */
    uint64_t *leases;  /* by shard: the latest claim, until it is reported; 0: none */
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
/* Returns NULL if no class has that name. */
struct poll_class *class_find(struct queue *queue, struct str name);
/* Makes it if need be. */
struct poll_class *class_get(struct queue *queue, struct str account, struct str models);
/* Parked polls that are not trying another shard: the number of credits there should be. A
 * hand-over may have taken a poll that was moving. */
static inline unsigned class_idle_n(const struct poll_class *class)
{
    return class->is_drained || class->parked.n <= class->moving_n
               ? 0
               : class->parked.n - class->moving_n;
}
/* An engine of the class polls: the syncs of all shards must report it (lua/queue/fallback.lua). */
void class_note_poll(struct poll_class *class);
/* An engine got that claim of the shard: it is working. */
void class_note_work(struct poll_class *class, unsigned shard, const struct claim *claim);
/* Whether it may have polls or credits on that shard. Lookups are all on the cluster's shard. */
static inline bool class_is_at(const struct poll_class *class, unsigned shard)
{
    return shard == 0 || class->work == WORK_QUERIES;
}
/* Whether it takes queries for that model. */
bool class_takes_model(const struct poll_class *class, struct str model);
/* Whether its engines name that model; those that take any model name none. */
bool class_lists_model(const struct poll_class *class, struct str model);
void polls_put_last(struct poll_list *list, struct poll *poll);
void polls_take_off(struct poll_list *list, struct poll *poll);
/* Writes `first`, `between` and `second`; returns 0 if they do not fit. */
size_t polls_join(char *at, size_t size, struct str first, char between, struct str second);
/* Sets the accounts (comma-separated names) that get no claims. */
void polls_on_drained(struct queue *queue, struct str names);
/* Frees the classes without a poll, a claim or a credit, except some whose next poll would have to
 * report its hints again. Never inside a poll's callback. */
void polls_forget_unused(struct queue *queue);
void polls_fini(struct queue *queue);

/* --- poll_credits.c --------------------------------------------------------------------------- */

void polls_set_state(struct poll *poll, enum poll_state to);
void polls_park(struct queue *queue, struct poll *poll);
void polls_unlink_parked(struct queue *queue, struct poll *poll);
/* Credits there once what is on its way has run, if the polls that look there park and take the
 * queries. Below 0: queries will wait there. */
int credits_to_come(const struct poll_class *class, unsigned shard);
/* Chooses the shard for the next credit: the usable one with the fewest to come, except those in
 * `but` (one bit each); SHARDS_MAX if there is none. Lookups are all on the cluster's shard. */
unsigned credits_least_shard(const struct poll_class *class, uint64_t but);
/* A script has granted one. */
void credits_note(struct poll_class *class, unsigned shard);
/* A hand-over used up a credit. Returns false if the credit is not known yet, because the reply
 * that grants it is on its way.
 */
bool credits_use(struct poll_class *class, unsigned shard);
/* Takes back surplus credits: a poll has ended, or got a claim that used none. */
void credits_settle(struct poll_class *class);
/* Grants missing credits of the class: the next sync of their shards reports them. */
void credits_grant_missing(struct poll_class *class);
/* Call it when the connection of that shard's turn is lost. */
void polls_on_lost(struct queue *queue, unsigned shard);
/* A connection to that shard is up again: without the bus this node may have been removed. */
void polls_on_up(struct queue *queue, unsigned shard);

/* --- poll_handover.c -------------------------------------------------------------------------- */

/* Gives a claim to an idle poll whose client is connected. */
void handover_deliver(struct poll *poll, struct claim *claim);
/* Gives a claim, as text, to a parked poll of the class, keeps it for one that is claiming, or
 * gives it back. `class` may be NULL. */
void handover_take(struct queue *queue, struct poll_class *class, struct origin origin,
                   struct str claim_text);
/* A claiming poll of the class got its reply: retries hand-overs that came too early. */
void handover_retry(struct queue *queue, struct poll_class *class);
void polls_on_claim_event(struct queue *queue, struct origin origin, struct str claim_text);

/* --- poll_move.c ------------------------------------------------------------------------------ */

/* A class's call to a shard for itself, or for a cancelled poll. */
struct move;
struct move *move_new(struct poll_class *class, unsigned shard, bool is_look);
/* For call_leave: the class takes over what a cancelled poll's claim took or was granted. */
void move_on_orphan(void *move, enum err error, struct str reply);
/* Makes the other shards notify this node of queries that the class may take. */
void move_state_hints(struct poll_class *class, unsigned but);
/* A query for a model waits on that shard: lets one of our polls try to take it. */
void polls_on_work(struct queue *queue, unsigned shard, struct lines *rest);
/* Polls have parked, or moved without success: checks earlier notifications again. */
void move_retry_calls(struct queue *queue);

#endif
