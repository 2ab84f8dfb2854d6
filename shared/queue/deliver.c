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
    struct queue *queue;
    unsigned n;
    char *claims[DELIVERED_MAX];
};

static void on_told(struct call *handle, enum err error, struct str reply)
{
    struct delivered_call *call = H2O_STRUCT_FROM_MEMBER(struct delivered_call, call, handle);
    struct queue *queue = call->queue;
    (void)reply;
    for (unsigned i = 0; i < call->n; i++)
        if (err_is_outage(error) && queue->delivered_n + 1 < DELIVERED_MAX)
            queue->delivered[queue->delivered_n++] = call->claims[i];
        else
            free(call->claims[i]);
    if (error == ERR_OK)
        queue_reap_by(queue, queue->config.lease_ms + QUEUE_REAP_AFTER_MS);
    else if (queue->delivered_n > 0 && !deadline_is_set(&queue->delivered_timer))
        loop_set_deadline(queue->loop, &queue->delivered_timer, soon_ms(queue));
    free(call);
}

void queue_tell_delivered(struct queue *queue)
{
    loop_cancel_deadline(queue->loop, &queue->delivered_timer);
    if (queue->delivered_n == 0)
        return;
    struct delivered_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        abort();
    *call = (struct delivered_call){.queue = queue, .n = queue->delivered_n};
    struct verb_writer verb = begin_delivered(turn_call(queue->turn, &call->call, on_told));
    for (unsigned i = 0; i < queue->delivered_n; i++) {
        put_delivered_claim(&verb, .lease = str_of(queue->delivered[i]));
        call->claims[i] = queue->delivered[i];
    }
    end_verb(&verb);
    queue->delivered_n = 0;
}

void queue_delivered(struct queue *queue, struct str topic, struct str lease)
{
    if (log_is_on(LOG_DEBUG))
        log_write(LOG_DEBUG, "a claim has reached its engine", LOG_STR("topic", topic),
                  LOG_STR("lease", lease));
    metrics_add(queue->metrics, METRIC_CLAIMS, 1);
    if (asprintf(&queue->delivered[queue->delivered_n], "%.*s %.*s", STR_ARG(lease),
                 STR_ARG(topic)) < 0)
        abort();
    if (++queue->delivered_n == DELIVERED_MAX)
        queue_tell_delivered(queue);
    else if (!deadline_is_set(&queue->delivered_timer))
        loop_set_deadline(queue->loop, &queue->delivered_timer, late_ms(queue));
}

void delivered_on_timer(struct deadline *deadline)
{
    queue_tell_delivered(H2O_STRUCT_FROM_MEMBER(struct queue, delivered_timer, deadline));
}

void delivered_before_flush(struct queue *queue)
{
    uint64_t window_ms = late_ms(queue) - soon_ms(queue);
    if (queue->delivered_n > 0 && queue->delivered_timer.at_ms <= clock_mono_ms() + window_ms)
        queue_tell_delivered(queue);
}

void queue_give_back(struct queue *queue, struct str topic, struct str lease)
{
    if (log_is_on(LOG_DEBUG))
        log_write(LOG_DEBUG, "a claim did not reach its engine: it goes back",
                  LOG_STR("topic", topic), LOG_STR("lease", lease));
    metrics_add(queue->metrics, METRIC_CLAIMS_BACK, 1);
    call_give_back(turn_forget(queue->turn), .topic = topic, .lease = lease);
}
