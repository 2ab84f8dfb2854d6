/* SPDX-License-Identifier: MIT
 * engines_check.c - see engines_check.h. */
#include "shared/queue/engines_check.h"

#include "shared/base/mem.h"

#include "generated/verbs.h"

struct engines_of_shard {
    struct call call;
    struct engines_check *check;
};

static void on_engines(struct call *call, enum err error, struct str reply)
{
    struct engines_check *check = container_of(call, struct engines_of_shard, call)->check;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    uint64_t rest_s = lines_next_u64(&lines);
    check->failed_n += error != ERR_OK;
    check->is_there |= error == ERR_OK && str_eq(tag, STR("there"));
    check->may_come |= error == ERR_OK && str_eq(tag, STR("maybe"));
    if (rest_s > 0 && (check->rest_s == 0 || rest_s < check->rest_s))
        check->rest_s = rest_s;
    if (--check->left_n > 0)
        return;
    check->is_unknown = check->failed_n == queue_shards(check->queue)->n;
    check->on_known(check);
}

void engines_check_start(struct engines_check *check, struct queue *queue, struct str topic,
                         uint64_t within_ms)
{
    struct shards *shards = queue_shards(queue);
    check->queue = queue;
    if (check->shards == NULL)
        check->shards = mem_zeroed_n(shards->n, sizeof *check->shards);
    check->left_n = shards->n;
    check->failed_n = 0;
    check->rest_s = 0;
    check->is_there = check->may_come = check->is_unknown = false;
    for (unsigned i = 0; i < shards->n; i++) {
        bool is_its = topic.n > 0 && shards->turns[i] == shards_turn(shards, topic);
        check->shards[i].check = check;
        call_engines(turn_call(shards->turns[i], &check->shards[i].call, on_engines),
                     .topic = is_its ? topic : STR(""), .within = within_ms);
    }
}

void engines_check_cancel(struct engines_check *check)
{
    for (unsigned i = 0; check->shards != NULL && i < queue_shards(check->queue)->n; i++)
        call_detach(&check->shards[i].call);
    free(check->shards);
    check->shards = NULL;
    check->left_n = 0;
}
