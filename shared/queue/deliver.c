/* SPDX-License-Identifier: MIT
 * deliver.c - reports what became of claims that were given to engines: confirmed
 * (queue_delivering) or given back.
 *
 * A confirmation waits for a turn that is sent anyway, from a fifth of the delivery lease on, and
 * no longer than three fifths: a call of its own for every claim would be the herd that hand-overs
 * avoid. A claim that ends before needs none: then its lease never has a key, which the
 * confirmation writes (lua/queue/delivered.lua). Nor does one whose client resets its connection or
 * its stream of HTTP/2 before: its bytes may be lost, which the kernel does not report. A claim
 * that is given back does not wait, for its queries shall be Open at once. */
#include "shared/queue/deliver.h"

#include "generated/verbs.h"
#include "shared/base/log.h"

#include <string.h>

enum { CLAIMS_PER_CALL = 256, UNCONFIRMED_MAX = 8192, BUCKET_N = 1024 };

/* A claim that goes to its engine and is not confirmed yet: in the list of its shard, oldest first,
 * and in a bucket. */
struct delivered {
    struct list_link link, bucket_link;
    struct shard_deliveries *shard;
    enum work work;
    uint64_t lease, since_ms;
    uint64_t connection; /* on which it went; 0: not known, or it is still being written */
    uint32_t stream;     /* of HTTP/2; else 0 */
    /* Both are in `text`. */
    struct str claim;  /* "<lease> <topic>" or "<lease> <fingerprint>" */
    struct str record; /* what its lease's key says; empty for a lookup */
    char text[];
};

/* Those to be confirmed together. */
struct shard_deliveries {
    struct queue_shard *part;
    struct list claims; /* struct delivered */
    unsigned n;
    struct deadline timer;
};

struct deliveries {
    struct list buckets[BUCKET_N]; /* struct delivered, by lease */
    struct shard_deliveries shards[];
};

static uint64_t soon_ms(const struct queue *queue)
{
    return queue->config.delivery_ms / 5;
}

static uint64_t late_ms(const struct queue *queue)
{
    return queue->config.delivery_ms * 3 / 5;
}

static struct shard_deliveries *at_shard(struct queue *queue, unsigned number)
{
    return &queue->deliveries->shards[number];
}

static struct shard_deliveries *of_topic(struct queue *queue, struct str topic)
{
    return at_shard(queue, queue_part(queue, topic)->number);
}

static struct delivered *first_of(const struct shard_deliveries *shard)
{
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is freed has left the list */
    return list_first(&shard->claims, struct delivered, link);
}

static struct list *bucket_of(struct shard_deliveries *shard, uint64_t lease)
{
    return &shard->part->queue->deliveries->buckets[lease % BUCKET_N];
}

/* It is in its shard's list. */
static void put_in_bucket(struct delivered *one)
{
    list_prepend(bucket_of(one->shard, one->lease), &one->bucket_link);
    one->shard->n++;
}

static void take_out(struct delivered *one)
{
    list_remove(&one->bucket_link);
    list_remove(&one->link);
    one->shard->n--;
}

static struct delivered *find(struct shard_deliveries *shard, enum work work, struct str lease_text)
{
    uint64_t lease;
    if (shard->n == 0 || !str_parse_u64(lease_text, &lease))
        return NULL;
    list_for_each (struct delivered, one, bucket_of(shard, lease), bucket_link)
        if (one->lease == lease && one->shard == shard && one->work == work)
            return one;
    return NULL;
}

/* Claims of one kind that are being confirmed. What a lost connection swallows is confirmed again:
 * their engines are at work, and would lose them with the delivery lease. */
struct delivered_call {
    struct call call;
    struct shard_deliveries *shard;
    unsigned n;
    struct delivered *claims[CLAIMS_PER_CALL];
};

static void on_reported(struct call *handle, enum err error, struct str reply)
{
    struct delivered_call *call = container_of(handle, struct delivered_call, call);
    struct shard_deliveries *shard = call->shard;
    struct queue_shard *part = shard->part;
    struct queue *queue = part->queue;
    enum work work = call->claims[0]->work;
    (void)reply;
    for (unsigned i = call->n; i-- > 0;)
        if (err_is_outage(error) && shard->n < UNCONFIRMED_MAX) {
            list_prepend(&shard->claims, &call->claims[i]->link);
            put_in_bucket(call->claims[i]);
        } else {
            free(call->claims[i]);
        }
    if (error == ERR_OK && work == WORK_LOOKUPS)
        part_cover_leases(part, queue->config.lease_ms);
    else if (error == ERR_OK)
        part_reap_by(part, queue->config.lease_ms + QUEUE_REAP_AFTER_MS);
    else if (shard->n > 0 && !deadline_is_set(&shard->timer))
        loop_set_deadline(queue->loop, &shard->timer, soon_ms(queue));
    free(call);
}

static void confirm(struct shard_deliveries *shard, struct delivered_call *call)
{
    call->shard = shard;
    enum work work = call->claims[0]->work;
    struct call_start start = turn_call(shard->part->turn, &call->call, on_reported);
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

/* Reports those that began until then (clock_mono_ms). */
static void report_until(struct shard_deliveries *shard, uint64_t until_ms)
{
    struct delivered_call *calls[WORK_NR] = {NULL};
    while (shard->n > 0 && first_of(shard)->since_ms <= until_ms) {
        struct delivered *one = first_of(shard);
        struct delivered_call **call = &calls[one->work];
        take_out(one);
        if (*call == NULL)
            *call = mem_zeroed(sizeof **call);
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): on_reported frees it */
        (*call)->claims[(*call)->n++] = one;
        if ((*call)->n == CLAIMS_PER_CALL) {
            confirm(shard, *call);
            *call = NULL;
        }
    }
    for (enum work work = 0; work < WORK_NR; work++)
        if (calls[work] != NULL)
            confirm(shard, calls[work]);
    struct loop *loop = shard->part->queue->loop;
    loop_cancel_deadline(loop, &shard->timer);
    if (shard->n > 0) {
        uint64_t due_ms = first_of(shard)->since_ms + late_ms(shard->part->queue);
        uint64_t now_ms = clock_mono_ms();
        loop_set_deadline(loop, &shard->timer, due_ms > now_ms ? due_ms - now_ms : 0);
    }
}

void delivered_report(struct queue_shard *part)
{
    report_until(at_shard(part->queue, part->number), UINT64_MAX);
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

static struct delivered *create(struct shard_deliveries *shard, enum work work, struct str topic,
                                struct str lease, struct str record)
{
    struct delivered *one = mem_alloc(sizeof *one + lease.n + 1 + topic.n + record.n);
    *one = (struct delivered){.shard = shard, .work = work, .since_ms = clock_mono_ms()};
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

static struct shard_deliveries *of_claim(struct queue *queue, enum work work, struct str topic)
{
    return work == WORK_LOOKUPS ? at_shard(queue, 0) : of_topic(queue, topic);
}

void queue_delivering(struct queue *queue, enum work work, struct str topic, struct str lease,
                      struct str record)
{
    struct shard_deliveries *shard = of_claim(queue, work, topic);
    struct delivered *one = create(shard, work, topic, lease, record);
    list_append(&shard->claims, &one->link);
    put_in_bucket(one);
    if (shard->n == UNCONFIRMED_MAX)
        delivered_report(shard->part);
    else if (!deadline_is_set(&shard->timer))
        loop_set_deadline(queue->loop, &shard->timer, late_ms(queue));
}

void queue_delivered(struct queue *queue, enum work work, struct str topic, struct str lease,
                     uint64_t connection, uint32_t stream)
{
    struct delivered *one = find(of_claim(queue, work, topic), work, lease);
    if (log_is_on(LOG_DEBUG))
        log_write(LOG_DEBUG, "claim delivered", LOG_STR("topic", topic), LOG_STR("lease", lease));
    if (work == WORK_QUERIES)
        metrics_add(queue->metrics, METRIC_CLAIMS, 1);
    if (one == NULL)
        return;
    one->connection = connection;
    one->stream = stream;
}

static void forget_those_of(struct shard_deliveries *shard, uint64_t connection, uint32_t stream)
{
    list_for_each (struct delivered, one, &shard->claims, link) {
        if (one->connection != connection || (stream != 0 && one->stream != stream))
            continue;
        take_out(one);
        free(one);
    }
}

void queue_answer_reset(struct queue *queue, uint64_t connection, uint32_t stream)
{
    for (unsigned i = 0; i < queue->shards.n; i++)
        forget_those_of(at_shard(queue, i), connection, stream);
}

/* False if it is not there. */
static bool forget(struct queue *queue, enum work work, struct str topic, struct str lease)
{
    struct delivered *one = find(of_claim(queue, work, topic), work, lease);
    if (one == NULL)
        return false;
    take_out(one);
    free(one);
    return true;
}

void queue_delivery_reset(struct queue *queue, enum work work, struct str topic, struct str lease)
{
    if (!forget(queue, work, topic, lease))
        queue_give_back(queue, work, topic, lease, true);
}

void queue_claim_ended(struct queue *queue, struct str topic, struct str lease)
{
    (void)forget(queue, WORK_QUERIES, topic, lease);
}

void queue_claim_lives(struct queue *queue, struct str topic, struct str lease)
{
    struct shard_deliveries *shard = of_topic(queue, topic);
    if (find(shard, WORK_QUERIES, lease) != NULL)
        delivered_report(shard->part);
}

void delivered_before_flush(struct queue_shard *part)
{
    struct shard_deliveries *shard = at_shard(part->queue, part->number);
    uint64_t soon = soon_ms(part->queue), now_ms = clock_mono_ms();
    if (shard->n > 0 && first_of(shard)->since_ms + soon <= now_ms)
        report_until(shard, now_ms - soon / 2); /* so that each call has many */
}

static void on_timer(struct deadline *deadline)
{
    report_until(container_of(deadline, struct shard_deliveries, timer), UINT64_MAX);
}

void delivered_each(const struct queue *queue,
                    void (*visit)(void *arg, struct str topic, struct str lease), void *arg)
{
    for (unsigned i = 0; i < queue->shards.n; i++)
        list_for_each (const struct delivered, one, &queue->deliveries->shards[i].claims, link) {
            struct str topic = one->claim, lease = str_cut(&topic, ' ');
            visit(arg, topic, lease);
        }
}

struct deliveries *deliveries_create(struct queue *queue)
{
    struct deliveries *all = mem_zeroed(sizeof *all + queue->shards.n * sizeof all->shards[0]);
    for (unsigned i = 0; i < queue->shards.n; i++) {
        all->shards[i].part = &queue->parts[i];
        all->shards[i].timer.on_expire = on_timer;
    }
    return all;
}

void deliveries_destroy(struct queue *queue)
{
    for (unsigned i = 0; i < queue->shards.n; i++) {
        struct shard_deliveries *shard = at_shard(queue, i);
        loop_cancel_deadline(queue->loop, &shard->timer);
        list_for_each (struct delivered, one, &shard->claims, link)
            free(one);
    }
    free(queue->deliveries);
}

void queue_give_back(struct queue *queue, enum work work, struct str topic, struct str lease,
                     bool sent)
{
    if (log_is_on(LOG_DEBUG))
        log_write(LOG_DEBUG, "claim not delivered: returning it", LOG_STR("topic", topic),
                  LOG_STR("lease", lease));
    (void)forget(queue, work, topic, lease);
    if (work == WORK_LOOKUPS) {
        call_give_back_lookup(shards_forget(&queue->shards), .fingerprint = topic, .lease = lease,
                              .sent = sent);
        return;
    }
    metrics_add(queue->metrics, METRIC_CLAIMS_BACK, 1);
    metrics_add(queue->metrics, METRIC_LEASES_UNDELIVERED, 1);
    call_give_back(shards_forget(&queue->shards), .topic = topic, .lease = lease, .sent = sent);
}
