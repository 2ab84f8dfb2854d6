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

/* Claims of one kind that are being confirmed. What a lost connection swallows is confirmed again:
 * their engines are at work, and would lose them with the delivery lease. */
struct delivered_call {
    struct call call;
    struct queue_shard *part;
    unsigned n;
    struct delivered claims[DELIVERED_MAX];
};

static void on_reported(struct call *handle, enum err error, struct str reply)
{
    struct delivered_call *call = H2O_STRUCT_FROM_MEMBER(struct delivered_call, call, handle);
    struct queue_shard *part = call->part;
    struct queue *queue = part->queue;
    enum work work = call->claims[0].work;
    (void)reply;
    for (unsigned i = 0; i < call->n; i++)
        if (err_is_outage(error) && part->delivered_n + 1 < DELIVERED_MAX)
            part->delivered[part->delivered_n++] = call->claims[i];
        else
            free(call->claims[i].claim);
    if (error == ERR_OK && work == WORK_LOOKUPS)
        part_look_after(part, queue->config.lease_ms);
    else if (error == ERR_OK)
        part_reap_by(part, queue->config.lease_ms + QUEUE_REAP_AFTER_MS);
    else if (part->delivered_n > 0 && !deadline_is_set(&part->delivered_timer))
        loop_set_deadline(queue->loop, &part->delivered_timer, soon_ms(queue));
    free(call);
}

/* Those of one kind of `all`, which are the call's from then on. */
static void report(struct queue_shard *part, enum work work, const struct delivered *all,
                   unsigned all_n)
{
    unsigned first = 0;
    while (first < all_n && all[first].work != work)
        first++;
    if (first == all_n)
        return;
    struct delivered_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        abort();
    call->part = part;
    for (unsigned i = first; i < all_n; i++)
        if (all[i].work == work)
            call->claims[call->n++] = all[i];
    struct call_start start = turn_call(part->turn, &call->call, on_reported);
    struct verb_writer verb =
        work == WORK_LOOKUPS ? begin_delivered_lookups(start) : begin_delivered(start);
    for (unsigned i = 0; i < call->n; i++)
        if (work == WORK_LOOKUPS)
            put_delivered_lookups_claim(&verb, .lease = str_of(call->claims[i].claim));
        else
            put_delivered_claim(&verb, .lease = str_of(call->claims[i].claim));
    end_verb(&verb);
}

void delivered_report(struct queue_shard *part)
{
    unsigned n = part->delivered_n;
    loop_cancel_deadline(part->queue->loop, &part->delivered_timer);
    part->delivered_n = 0;
    for (enum work work = 0; n > 0 && work < WORK_NR; work++)
        report(part, work, part->delivered, n);
}

void queue_report_delivered(struct queue *queue)
{
    for (unsigned i = 0; i < queue->shards.n; i++)
        delivered_report(&queue->parts[i]);
}

void queue_delivered(struct queue *queue, enum work work, struct str topic, struct str lease)
{
    struct queue_shard *part = work == WORK_LOOKUPS ? &queue->parts[0] : queue_part(queue, topic);
    struct delivered *delivered = &part->delivered[part->delivered_n];
    if (log_is_on(LOG_DEBUG))
        log_write(LOG_DEBUG, "claim delivered", LOG_STR("topic", topic), LOG_STR("lease", lease));
    if (work == WORK_QUERIES)
        metrics_add(queue->metrics, METRIC_CLAIMS, 1);
    delivered->work = work;
    if (asprintf(&delivered->claim, "%.*s %.*s", STR_ARG(lease), STR_ARG(topic)) < 0)
        abort();
    if (++part->delivered_n == DELIVERED_MAX)
        delivered_report(part);
    else if (!deadline_is_set(&part->delivered_timer))
        loop_set_deadline(queue->loop, &part->delivered_timer, late_ms(queue));
}

void delivered_on_timer(struct deadline *deadline)
{
    delivered_report(H2O_STRUCT_FROM_MEMBER(struct queue_shard, delivered_timer, deadline));
}

void delivered_before_flush(struct queue_shard *part)
{
    uint64_t window_ms = late_ms(part->queue) - soon_ms(part->queue);
    if (part->delivered_n > 0 && part->delivered_timer.at_ms <= clock_mono_ms() + window_ms)
        delivered_report(part);
}

void queue_give_back(struct queue *queue, enum work work, struct str topic, struct str lease)
{
    if (log_is_on(LOG_DEBUG))
        log_write(LOG_DEBUG, "claim not delivered: returning it", LOG_STR("topic", topic),
                  LOG_STR("lease", lease));
    if (work == WORK_LOOKUPS) {
        call_give_back_lookup(shards_forget(&queue->shards), .fingerprint = topic, .lease = lease);
        return;
    }
    metrics_add(queue->metrics, METRIC_CLAIMS_BACK, 1);
    metrics_add(queue->metrics, METRIC_LEASES_UNDELIVERED, 1);
    call_give_back(shards_forget(&queue->shards), .topic = topic, .lease = lease);
}
