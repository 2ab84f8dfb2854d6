/* SPDX-License-Identifier: MIT
 * deliver.c - what became of claims that were given to engines: confirmed (queue_delivered) or
 * given back.
 *
 * A confirmation waits for a turn that is sent anyway, from a fifth of the delivery lease on, and
 * no longer than three fifths: a call of its own for every claim would be the herd that hand-overs
 * avoid. A claim that ends before needs none: then its lease never has a key, which the
 * confirmation writes (lua/queue/delivered.lua). Nor does one whose client resets its connection or
 * its stream of HTTP/2 before: its bytes may be lost, which the kernel does not report. A claim
 * that is given back does not wait, for its queries shall be Open at once. */
#include "shared/queue/queue_internal.h"

#include "generated/verbs.h"
#include "shared/base/log.h"

#include <stdlib.h>
#include <string.h>

enum { CLAIMS_PER_CALL = 256, UNCONFIRMED_MAX = 8192 };

static uint64_t soon_ms(const struct queue *queue)
{
    return queue->config.delivery_ms / 5;
}

static uint64_t late_ms(const struct queue *queue)
{
    return queue->config.delivery_ms * 3 / 5;
}

static struct delivered *first_of(const struct queue_shard *part)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is freed has left the list */
    return H2O_STRUCT_FROM_MEMBER(struct delivered, link, part->delivered.next);
}

static struct delivered **bucket_of(struct queue *queue, uint64_t lease)
{
    return &queue->delivered[lease % DELIVERED_BUCKET_N];
}

/* At the end of its shard's list, or at its beginning. */
static void put_in(struct delivered *one, h2o_linklist_t *before)
{
    struct delivered **bucket = bucket_of(one->part->queue, one->lease);
    one->next = *bucket;
    *bucket = one;
    h2o_linklist_insert(before, &one->link);
    one->part->delivered_n++;
}

static void take_out(struct delivered *one)
{
    struct delivered **at = bucket_of(one->part->queue, one->lease);
    while (*at != one)
        at = &(*at)->next;
    *at = one->next;
    h2o_linklist_unlink(&one->link);
    one->part->delivered_n--;
}

static struct delivered *find(struct queue_shard *part, enum work work, struct str lease_text)
{
    uint64_t lease;
    if (part->delivered_n == 0 || !str_parse_u64(lease_text, &lease))
        return NULL;
    struct delivered *one = *bucket_of(part->queue, lease);
    while (one != NULL && (one->lease != lease || one->part != part || one->work != work))
        one = one->next;
    return one;
}

/* Claims of one kind that are being confirmed. What a lost connection swallows is confirmed again:
 * their engines are at work, and would lose them with the delivery lease. */
struct delivered_call {
    struct call call;
    struct queue_shard *part;
    unsigned n;
    struct delivered *claims[CLAIMS_PER_CALL];
};

static void on_reported(struct call *handle, enum err error, struct str reply)
{
    struct delivered_call *call = H2O_STRUCT_FROM_MEMBER(struct delivered_call, call, handle);
    struct queue_shard *part = call->part;
    struct queue *queue = part->queue;
    enum work work = call->claims[0]->work;
    (void)reply;
    for (unsigned i = call->n; i-- > 0;)
        if (err_is_outage(error) && part->delivered_n < UNCONFIRMED_MAX)
            put_in(call->claims[i], part->delivered.next);
        else
            free(call->claims[i]);
    if (error == ERR_OK && work == WORK_LOOKUPS)
        part_look_after(part, queue->config.lease_ms);
    else if (error == ERR_OK)
        part_reap_by(part, queue->config.lease_ms + QUEUE_REAP_AFTER_MS);
    else if (part->delivered_n > 0 && !deadline_is_set(&part->delivered_timer))
        loop_set_deadline(queue->loop, &part->delivered_timer, soon_ms(queue));
    free(call);
}

static void confirm(struct queue_shard *part, struct delivered_call *call)
{
    call->part = part;
    enum work work = call->claims[0]->work;
    struct call_start start = turn_call(part->turn, &call->call, on_reported);
    struct verb_writer verb =
        work == WORK_LOOKUPS ? begin_delivered_lookups(start) : begin_delivered(start);
    for (unsigned i = 0; i < call->n; i++)
        if (work == WORK_LOOKUPS)
            put_delivered_lookups_claim(&verb, .lease = call->claims[i]->claim);
        else
            put_delivered_claim(&verb, .lease = call->claims[i]->claim,
                                .record = call->claims[i]->record);
    end_verb(&verb);
}

/* Reports those that were delivered until then (clock_mono_ms). */
static void report_until(struct queue_shard *part, uint64_t until_ms)
{
    struct delivered_call *calls[WORK_NR] = {NULL};
    while (part->delivered_n > 0 && first_of(part)->since_ms <= until_ms) {
        struct delivered *one = first_of(part);
        struct delivered_call **call = &calls[one->work];
        take_out(one);
        if (*call == NULL && (*call = calloc(1, sizeof **call)) == NULL)
            abort();
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): on_reported frees it */
        (*call)->claims[(*call)->n++] = one;
        if ((*call)->n == CLAIMS_PER_CALL) {
            confirm(part, *call);
            *call = NULL;
        }
    }
    for (enum work work = 0; work < WORK_NR; work++)
        if (calls[work] != NULL)
            confirm(part, calls[work]);
    struct loop *loop = part->queue->loop;
    loop_cancel_deadline(loop, &part->delivered_timer);
    if (part->delivered_n > 0) {
        uint64_t due_ms = first_of(part)->since_ms + late_ms(part->queue);
        uint64_t now_ms = clock_mono_ms();
        loop_set_deadline(loop, &part->delivered_timer, due_ms > now_ms ? due_ms - now_ms : 0);
    }
}

void delivered_report(struct queue_shard *part)
{
    report_until(part, UINT64_MAX);
}

void queue_report_delivered(struct queue *queue)
{
    for (unsigned i = 0; i < queue->shards.n; i++)
        delivered_report(&queue->parts[i]);
}

static char *append(char *at, struct str text)
{
    memcpy(at, text.at, text.n);
    return at + text.n;
}

static struct delivered *create(struct queue_shard *part, enum work work, struct str topic,
                                struct str lease, struct str record)
{
    struct delivered *one = malloc(sizeof *one + lease.n + 1 + topic.n + record.n);
    if (one == NULL)
        abort();
    *one = (struct delivered){.part = part, .work = work, .since_ms = clock_mono_ms()};
    if (!str_parse_u64(lease, &one->lease))
        one->lease = 0;
    char *at = append(one->text, lease);
    *at++ = ' ';
    at = append(at, topic);
    one->claim = (struct str){one->text, (size_t)(at - one->text)};
    one->record = (struct str){at, record.n};
    append(at, record);
    return one;
}

void queue_delivered(struct queue *queue, enum work work, struct str topic, struct str lease,
                     struct str record, uint64_t connection, uint32_t stream)
{
    struct queue_shard *part = work == WORK_LOOKUPS ? &queue->parts[0] : queue_part(queue, topic);
    if (log_is_on(LOG_DEBUG))
        log_write(LOG_DEBUG, "claim delivered", LOG_STR("topic", topic), LOG_STR("lease", lease));
    if (work == WORK_QUERIES)
        metrics_add(queue->metrics, METRIC_CLAIMS, 1);
    struct delivered *one = create(part, work, topic, lease, record);
    one->connection = connection;
    one->stream = stream;
    put_in(one, &part->delivered);
    if (part->delivered_n == UNCONFIRMED_MAX)
        delivered_report(part);
    else if (!deadline_is_set(&part->delivered_timer))
        loop_set_deadline(queue->loop, &part->delivered_timer, late_ms(queue));
}

static void forget_those_of(struct queue_shard *part, uint64_t connection, uint32_t stream)
{
    for (h2o_linklist_t *link = part->delivered.next, *next; link != &part->delivered;
         link = next) {
        struct delivered *one = H2O_STRUCT_FROM_MEMBER(struct delivered, link, link);
        next = link->next;
        if (one->connection != connection || (stream != 0 && one->stream != stream))
            continue;
        take_out(one);
        free(one);
    }
}

void queue_answer_reset(struct queue *queue, uint64_t connection, uint32_t stream)
{
    for (unsigned i = 0; i < queue->shards.n; i++)
        forget_those_of(&queue->parts[i], connection, stream);
}

void queue_claim_ended(struct queue *queue, struct str topic, struct str lease)
{
    struct delivered *one = find(queue_part(queue, topic), WORK_QUERIES, lease);
    if (one == NULL)
        return;
    take_out(one);
    free(one);
}

void queue_claim_lives(struct queue *queue, struct str topic, struct str lease)
{
    struct queue_shard *part = queue_part(queue, topic);
    if (find(part, WORK_QUERIES, lease) != NULL)
        delivered_report(part);
}

static void on_timer(struct deadline *deadline)
{
    delivered_report(H2O_STRUCT_FROM_MEMBER(struct queue_shard, delivered_timer, deadline));
}

void delivered_before_flush(struct queue_shard *part)
{
    uint64_t soon = soon_ms(part->queue), now_ms = clock_mono_ms();
    if (part->delivered_n > 0 && first_of(part)->since_ms + soon <= now_ms)
        report_until(part, now_ms - soon / 2); /* so that each call has many */
}

void delivered_init(struct queue_shard *part)
{
    h2o_linklist_init_anchor(&part->delivered);
    part->delivered_timer.on_expire = on_timer;
}

void delivered_fini(struct queue_shard *part)
{
    loop_cancel_deadline(part->queue->loop, &part->delivered_timer);
    while (part->delivered_n > 0) {
        struct delivered *one = first_of(part);
        take_out(one);
        free(one);
    }
}

void queue_give_back(struct queue *queue, enum work work, struct str topic, struct str lease,
                     bool sent)
{
    if (log_is_on(LOG_DEBUG))
        log_write(LOG_DEBUG, "claim not delivered: returning it", LOG_STR("topic", topic),
                  LOG_STR("lease", lease));
    if (work == WORK_LOOKUPS) {
        call_give_back_lookup(shards_forget(&queue->shards), .fingerprint = topic, .lease = lease,
                              .sent = sent);
        return;
    }
    metrics_add(queue->metrics, METRIC_CLAIMS_BACK, 1);
    metrics_add(queue->metrics, METRIC_LEASES_UNDELIVERED, 1);
    call_give_back(shards_forget(&queue->shards), .topic = topic, .lease = lease, .sent = sent);
}
