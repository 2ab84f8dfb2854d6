/* SPDX-License-Identifier: MIT
 *
 * poll_class: polls that are equal for the scripts form a class: one account, one list of models.
 * Engines choose their lists, so an unused class is freed after the next sync. It also has lists of
 * polls. On the loop's thread.
 */
#ifndef PARLEY_QUEUE_POLL_CLASS_H
#define PARLEY_QUEUE_POLL_CLASS_H

#include "shared/queue/core.h"

enum { CLASS_BUCKET_N = 256 };

struct poll_list {
    struct list list; /* struct poll */
    unsigned n;
};

/* Returns NULL if the list is empty. */
static inline struct poll *polls_first(const struct poll_list *polls)
{
    return list_first(&polls->list, struct poll, link);
}
void polls_put_last(struct poll_list *list, struct poll *poll);
void polls_take_off(struct poll_list *list, struct poll *poll);

struct early;

struct poll_class {
    struct queue *queue;
    struct poll_class *next; /* of its bucket */
    unsigned bucket;
    char *name; /* "<account>|<models>"; "<account>|?" of polls for lookups */
    size_t name_n, account_n;
    enum work work;
    bool is_drained;  /* the account gets no claims: its polls are held without credit */
    uint64_t hinted;  /* shards that hold its hint */
    uint64_t polled;  /* shards that do not know yet that it polled or got work there */
    uint64_t *leases; /* by shard: the latest claim, until it is reported; 0: none */
    /* poll.c: */
    struct poll_list claiming; /* oldest first */
    unsigned rotor;            /* where the next poll begins to claim */
    unsigned *passed; /* by shard: claims elsewhere in a row while something was Open there */
    unsigned *claims; /* by shard: running claims, which take Open queries first */
    /* poll_credits.c: */
    struct poll_list parked; /* oldest first */
    unsigned credit_n; /* of all shards; of a class that is not drained as many as are parked */
    unsigned *credits; /* by shard: credits that each may hand over */
    uint64_t reported; /* shards that may hold credits of it, one bit each: zero is reported too */
    /* poll_handover.c: */
    struct early *early; /* hand-overs that came before the poll's own reply */
    unsigned early_n;
    /* poll_move.c: */
    unsigned left_n;   /* running claims whose polls were cancelled */
    unsigned moving_n; /* parked polls that are trying another shard: they are not credits */
};

struct classes *classes_create(void) must_check;
/* Frees all classes, too. */
void classes_destroy(struct classes *classes);

/* Returns NULL if no class has that name. */
struct poll_class *class_find(struct queue *queue, struct str name);
/* Returns the class, and creates it if there is none. */
struct poll_class *class_get(struct queue *queue, struct str account, struct str models);
/* The class after that one, or the first one (NULL); NULL after the last one. */
struct poll_class *classes_next(const struct queue *queue, const struct poll_class *class);
/* The first class of a bucket. */
struct poll_class *classes_at(const struct queue *queue, unsigned bucket);
/* Frees the classes without a poll, a claim or a credit, except some whose next poll would have to
 * report its hints again. Never inside a poll's callback. */
void classes_forget_unused(struct queue *queue);
/* Sets the accounts (comma-separated names) that get no claims. Returns whether one of them gets
 * claims again. */
bool classes_set_drained(struct queue *queue, struct str names) must_check;

static inline struct str class_name(const struct poll_class *class)
{
    return (struct str){class->name, class->name_n};
}
static inline struct str class_account(const struct poll_class *class)
{
    return (struct str){class->name, class->account_n};
}
static inline struct str class_models(const struct poll_class *class)
{
    return (struct str){class->name + class->account_n + 1, class->name_n - class->account_n - 1};
}
/* Returns the number of parked polls that are not trying another shard, which is the number of
 * credits that there should be. A hand-over may have taken a poll that was moving. */
static inline unsigned class_idle_n(const struct poll_class *class)
{
    return class->is_drained || class->parked.n <= class->moving_n
               ? 0
               : class->parked.n - class->moving_n;
}
/* Returns whether it may have polls or credits on that shard. Lookups are all on the cluster's
 * shard. */
static inline bool class_is_at(const struct poll_class *class, unsigned shard)
{
    return shard == 0 || class->work == WORK_QUERIES;
}
/* Returns whether it takes queries for that model. */
bool class_takes_model(const struct poll_class *class, struct str model);
/* Returns whether its engines name that model; those that take any model name none. */
bool class_lists_model(const struct poll_class *class, struct str model);

/* Note that a claim of the class begins, or ends, on that shard. */
static inline void class_begin_claim(struct poll_class *class, unsigned shard)
{
    class->claims[shard]++;
}
static inline void class_end_claim(struct poll_class *class, unsigned shard)
{
    class->claims[shard]--;
}
/* Note that the shard holds its hint, or may have lost it. */
static inline void class_note_hint(struct poll_class *class, unsigned shard)
{
    class->hinted |= shard_bit(shard);
}
static inline void class_forget_hint(struct poll_class *class, unsigned shard)
{
    class->hinted &= ~shard_bit(shard);
}
/* Notes that an engine of the class polls: the syncs of all shards must report it
 * (lua/queue/fallback.lua). */
void class_note_poll(struct poll_class *class);
/* Notes that an engine got that claim of the shard and is working. */
void class_note_work(struct poll_class *class, unsigned shard, const struct claim *claim);
/* Takes what was noted for a sync of that shard. Returns the latest lease, or 0. */
uint64_t class_take_notes(struct poll_class *class, unsigned shard);

#endif
