/* SPDX-License-Identifier: MIT
 *
 * engines_check: asks all shards whether an engine is there, in a small call each. In its owner,
 * zeroed initially; on the thread of the queue's loop.
 */
#ifndef PARLEY_QUEUE_ENGINES_CHECK_H
#define PARLEY_QUEUE_ENGINES_CHECK_H

#include "shared/queue/queue.h"

struct engines_of_shard;

struct engines_check {
    struct queue *queue;
    struct engines_of_shard *shards; /* NULL: it was never started */
    unsigned left_n, failed_n;       /* of them: not asked yet, unreachable */
    /* The result. A shard that is away says nothing: engines that wait have credits elsewhere.
     */
    bool is_there, may_come, is_unknown;
    uint64_t rest_s; /* until the first engine has rested; 0: none rests */
    /* All have been asked. Never inside engines_check_start. May cancel the check. */
    void (*on_known)(struct engines_check *check);
};

/* Not while it is under way (left_n > 0). `topic`: of a question that may have been claimed, which
 * lives as long as the check is under way; n == 0: none. An engine that was seen within the last
 * `within_ms` is there; 0: only one that polls or works now. */
void engines_check_start(struct engines_check *check, struct queue *queue, struct str topic,
                         uint64_t within_ms);
/* Accepts one that was never started. */
void engines_check_cancel(struct engines_check *check);

#endif
