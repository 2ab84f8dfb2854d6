/* SPDX-License-Identifier: MIT
 * status.c - see status.h. */
#include "shared/queue/status.h"

void status_init(struct status *status, unsigned shard_n)
{
    *status = (struct status){.shard_n = shard_n, .has_runs = true};
}

static void read_work(struct status *status, struct lines *lines)
{
    uint64_t runs;
    status->failed_kept += lines_next_u64(lines);
    if (str_parse_u64(lines_next(lines), &runs))
        status->runs += runs;
    else
        status->has_runs = false;
    status->jobs += lines_next_u64(lines);
    status->unread_jobs += lines_next_u64(lines);
    status->deliveries += lines_next_u64(lines);
    status->evaluations += lines_next_u64(lines);
    status->batches += lines_next_u64(lines);
}

void status_read(struct status *status, unsigned shard, struct str reply)
{
    struct lines lines = lines_of(reply);
    uint64_t oldest_ms;
    (void)lines_next(&lines); /* "ok" */
    status->depth += lines_next_u64(&lines);
    if (str_parse_u64(lines_next(&lines), &oldest_ms)) {
        status->has_oldest = true;
        status->oldest_ms = oldest_ms > status->oldest_ms ? oldest_ms : status->oldest_ms;
    }
    status->in_flight += lines_next_u64(&lines);
    status->lookups += lines_next_u64(&lines);
    status->parked += lines_next_u64(&lines);
    status->added += lines_next_u64(&lines);
    status->done += lines_next_u64(&lines);
    status->failed += lines_next_u64(&lines);
    status->span_s = lines_next_u64(&lines);
    struct str drained = lines_next(&lines);
    if (shard == 0)
        status->drained = drained;
    read_work(status, &lines);
    uint64_t engine_n = lines_next_u64(&lines);
    status->engines[shard] = lines;
    for (; status->engine_n[shard] < engine_n && lines_are_left(&lines); status->engine_n[shard]++)
        for (unsigned i = 0; i < STATUS_ENGINE_LINES; i++)
            (void)lines_next(&lines);
    status->nodes[shard] = lines;
}

bool status_next_node(struct lines *nodes, struct status_node *ret_node)
{
    if (!lines_are_left(nodes))
        return false;
    ret_node->id = lines_next(nodes);
    ret_node->is_gone = str_eq(lines_next(nodes), STR("gone"));
    ret_node->age_ms = lines_next_u64(nodes);
    ret_node->info = lines_next(nodes);
    return true;
}

bool status_is_first(const struct status *status, unsigned shard, const struct status_node *node)
{
    struct status_node other;
    for (unsigned i = 0; i <= shard; i++)
        for (struct lines nodes = status->nodes[i]; status_next_node(&nodes, &other);)
            if (str_eq(other.id, node->id) &&
                (other.is_gone < node->is_gone || (i < shard && other.is_gone == node->is_gone)))
                return false;
    return true;
}

/* Puts what is under way in addition to the questions. */
static void put_work(struct buf *b, const struct status *status)
{
    buf_lit(b, ",\"Work\":{\"Runs\":");
    if (status->has_runs)
        buf_put_u64(b, status->runs);
    else
        buf_lit(b, "null");
    buf_printf(b,
               ",\"IndexingJobs\":%llu,\"UnreadableJobs\":%llu,\"Deliveries\":%llu,"
               "\"Evaluations\":%llu,\"Batches\":%llu,\"FailedQuestions\":%llu}",
               (unsigned long long)status->jobs, (unsigned long long)status->unread_jobs,
               (unsigned long long)status->deliveries, (unsigned long long)status->evaluations,
               (unsigned long long)status->batches, (unsigned long long)status->failed_kept);
}

void status_put_counts(struct buf *b, const struct status *status)
{
    buf_printf(b, "\"Depth\":%llu,\"OldestSeconds\":", (unsigned long long)status->depth);
    if (status->has_oldest)
        buf_printf(b, "%.3f", (double)status->oldest_ms / 1000);
    else
        buf_lit(b, "null");
    buf_printf(b, ",\"InFlight\":%llu,\"OpenLookups\":%llu,\"ParkedPolls\":%llu",
               (unsigned long long)status->in_flight, (unsigned long long)status->lookups,
               (unsigned long long)status->parked);
    buf_printf(b, ",\"Recent\":{\"Seconds\":%llu,\"Added\":%llu,\"Done\":%llu,\"Failed\":%llu",
               (unsigned long long)status->span_s, (unsigned long long)status->added,
               (unsigned long long)status->done, (unsigned long long)status->failed);
    buf_printf(b, ",\"DonePerSecond\":%.3f}",
               status->span_s == 0 ? 0.0 : (double)status->done / (double)status->span_s);
    put_work(b, status);
}
