/* SPDX-License-Identifier: MIT
 *
 * poll_handover: hands claims to polls: each to the oldest live poll of its class; otherwise the
 * claim waits for one that is claiming, or is given back. On the loop's thread.
 */
#ifndef PARLEY_QUEUE_POLL_HANDOVER_H
#define PARLEY_QUEUE_POLL_HANDOVER_H

#include "shared/queue/poll_class.h"

/* The shard that a claim comes from, and whether it used up a credit there; if not, one is taken
 * back. */
struct origin {
    unsigned shard;
    bool used_credit;
};

/* Gives a claim to an idle poll whose client is connected. */
void handover_deliver(struct poll *poll, struct claim *claim);
/* Gives a claim, as text, to a parked poll of the class, keeps it for one that is claiming, or
 * gives it back. `class` may be NULL. */
void handover_take(struct queue *queue, struct poll_class *class, struct origin origin,
                   struct str claim_text);
/* Retries hand-overs that came too early. Call it when a claiming poll of the class got its
 * reply. */
void handover_retry(struct queue *queue, struct poll_class *class);
/* Takes a claim that a script of this or another node has made for this one. */
void handover_on_event(struct queue *queue, struct origin origin, struct str claim_text);
/* Calls `visit` for each claim that came too early; the claim is valid inside the call. */
void handover_each_early(const struct queue *queue,
                         void (*visit)(void *arg, const struct claim *claim), void *arg);
/* Drops the claims that came too early: the queue ends. */
void handover_fini(struct queue *queue);

#endif
