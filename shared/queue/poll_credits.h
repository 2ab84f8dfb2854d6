/* SPDX-License-Identifier: MIT
 *
 * poll_credits: parked polls, and the credits that shards have been granted for them: each parked
 * poll is a credit on one shard. It also moves the state of a poll (queue.h). On the loop's thread.
 */
#ifndef PARLEY_QUEUE_POLL_CREDITS_H
#define PARLEY_QUEUE_POLL_CREDITS_H

#include "shared/queue/poll_class.h"

void polls_set_state(struct poll *poll, enum poll_state to);
void polls_park(struct queue *queue, struct poll *poll);
void polls_unlink_parked(struct queue *queue, struct poll *poll);

/* Returns the credits of that shard once what is on its way has run, if the polls that claim there
 * park and take the queries. Negative: queries will wait there. */
int credits_to_come(const struct poll_class *class, unsigned shard);
/* Chooses the shard for the next credit: the usable one with the fewest to come, except those in
 * `but` (one bit each); SHARDS_MAX if there is none. Lookups are all on the cluster's shard. */
unsigned credits_least_shard(const struct poll_class *class, uint64_t but);
/* Notes a credit that a script has granted. */
void credits_note(struct poll_class *class, unsigned shard);
/* Uses up a credit for a hand-over. Returns false if the credit is not known yet, because the reply
 * that grants it is on its way.
 */
bool credits_use(struct poll_class *class, unsigned shard);
/* Takes back surplus credits: a poll has ended, or got a claim that used none. */
void credits_withdraw_surplus(struct poll_class *class);
/* Grants missing credits of the class: the next sync of their shards reports them. */
void credits_grant_missing(struct poll_class *class);
/* Returns the credits of a shard. */
unsigned credits_at(const struct poll_class *class, unsigned shard);
/* Returns whether the next sync of that shard states the class, even without a credit. */
bool credits_are_stated(const struct poll_class *class, unsigned shard);
/* Notes that the class has been stated. */
void credits_note_stated(struct poll_class *class, unsigned shard);

/* Call it when the connection of that shard's turn is lost. */
void credits_on_lost(struct queue *queue, unsigned shard);
/* Call it when a connection to that shard is up again: while the bus was down, the credits of this
 * node may have been removed. */
void credits_on_up(struct queue *queue, unsigned shard);
/* From now on these accounts (comma-separated names) get no claims, and all others do. */
void credits_on_drained(struct queue *queue, struct str names);

#endif
