/* SPDX-License-Identifier: MIT
 * deliver.c - what became of claims that were given to engines: confirmed (queue_delivered) or
 * given back.
 *
 * A confirmation waits for a turn that is sent anyway, from a fifth of the delivery lease on, and
 * no longer than three fifths: a call of its own for every claim would be the herd that hand-overs
 * avoid. A claim that is given back does not wait, for its queries shall be Open at once. */
#include "shared/queue/queue_internal.h"

#include "generated/verbs.h"
#include "shared/base/log.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t soon_ms(const struct queue *queue)
{
    return queue->config.delivery_ms / 5;
}

static uint64_t late_ms(const struct queue *queue)
{
    return queue->config.delivery_ms * 3 / 5;
}

/* Claims that are being confirmed. What a lost connection swallows is told again: their engines are
 * at work, and would lose them with the delivery lease. */
struct delivered_call {
    struct call call;
    struct queue_shard *part;
    unsigned n;
    char *claims[DELIVERED_MAX];
};

static void on_told(struct call *handle, enum err error, struct str reply)
{
    struct delivered_call *call = H2O_STRUCT_FROM_MEMBER(struct delivered_call, call, handle);
    struct queue_shard *part = call->part;
    struct queue *queue = part->queue;
    (void)reply;
    for (unsigned i = 0; i < call->n; i++)
        if (err_is_outage(error) && part->delivered_n + 1 < DELIVERED_MAX)
            part->delivered[part->delivered_n++] = call->claims[i];
        else
            free(call->claims[i]);
    if (error == ERR_OK)
        part_reap_by(part, queue->config.lease_ms + QUEUE_REAP_AFTER_MS);
    else if (part->delivered_n > 0 && !deadline_is_set(&part->delivered_timer))
        loop_set_deadline(queue->loop, &part->delivered_timer, soon_ms(queue));
    free(call);
}

void delivered_tell(struct queue_shard *part)
{
    loop_cancel_deadline(part->queue->loop, &part->delivered_timer);
    if (part->delivered_n == 0)
        return;
    struct delivered_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        abort();
    *call = (struct delivered_call){.part = part, .n = part->delivered_n};
    struct verb_writer verb = begin_delivered(turn_call(part->turn, &call->call, on_told));
    for (unsigned i = 0; i < part->delivered_n; i++) {
        put_delivered_claim(&verb, .lease = str_of(part->delivered[i]));
        call->claims[i] = part->delivered[i];
    }
    end_verb(&verb);
    part->delivered_n = 0;
}

void queue_tell_delivered(struct queue *queue)
{
    for (unsigned i = 0; i < queue->shards.n; i++)
        delivered_tell(&queue->parts[i]);
}

void queue_delivered(struct queue *queue, struct str topic, struct str lease)
{
    if (log_is_on(LOG_DEBUG))
        log_write(LOG_DEBUG, "a claim has reached its engine", LOG_STR("topic", topic),
                  LOG_STR("lease", lease));
    metrics_add(queue->metrics, METRIC_CLAIMS, 1);
    struct queue_shard *part = queue_part(queue, topic);
    if (asprintf(&part->delivered[part->delivered_n], "%.*s %.*s", STR_ARG(lease), STR_ARG(topic)) <
        0)
        abort();
    if (++part->delivered_n == DELIVERED_MAX)
        delivered_tell(part);
    else if (!deadline_is_set(&part->delivered_timer))
        loop_set_deadline(queue->loop, &part->delivered_timer, late_ms(queue));
}

void delivered_on_timer(struct deadline *deadline)
{
    delivered_tell(H2O_STRUCT_FROM_MEMBER(struct queue_shard, delivered_timer, deadline));
}

void delivered_before_flush(struct queue_shard *part)
{
    uint64_t window_ms = late_ms(part->queue) - soon_ms(part->queue);
    if (part->delivered_n > 0 && part->delivered_timer.at_ms <= clock_mono_ms() + window_ms)
        delivered_tell(part);
}

void queue_give_back(struct queue *queue, struct str topic, struct str lease)
{
    if (log_is_on(LOG_DEBUG))
        log_write(LOG_DEBUG, "a claim did not reach its engine: it goes back",
                  LOG_STR("topic", topic), LOG_STR("lease", lease));
    metrics_add(queue->metrics, METRIC_CLAIMS_BACK, 1);
    call_give_back(shards_forget(&queue->shards), .topic = topic, .lease = lease);
}
