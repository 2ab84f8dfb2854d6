/* SPDX-License-Identifier: MIT
 * poll_move.c - polls that take what is on another shard than their credit: hints, and what they
 * lead to (polls.h, lua/queue/hints.lua). */
#include "shared/queue/polls.h"

#include "generated/verbs.h"
#include <stdio.h>
#include <stdlib.h>

enum { TRIED_MAX_BYTES = 512 };

/* What a class asks of a shard for itself, or for a poll that was cancelled meanwhile. */
struct move {
    struct call call;
    struct poll_class *class;
    unsigned shard;
    bool is_moving; /* for one of those that are parked */
};

struct move *move_new(struct poll_class *class, unsigned shard)
{
    struct move *move = calloc(1, sizeof *move);
    if (move == NULL)
        abort();
    move->class = class;
    move->shard = shard;
    class->left_n++;
    return move;
}

static void end_move(struct move *move, enum err error, struct str reply)
{
    struct poll_class *class = move->class;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    class->left_n--;
    class->moving_n -= move->is_moving;
    if (error != ERR_OK)
        class->hinted &= ~shard_bit(move->shard);
    if (str_eq(tag, STR("claim")))
        handover_take(class->queue, class, (struct origin){move->shard, false}, lines.rest);
    else if (str_eq(tag, STR("parked")))
        credits_note(class, move->shard);
    credits_settle(class);
    if (class->early_n > 0)
        handover_retry(class->queue, class);
    free(move);
}

static void on_move_reply(struct call *call, enum err error, struct str reply)
{
    end_move(H2O_STRUCT_FROM_MEMBER(struct move, call, call), error, reply);
}

/* Its poll was cancelled: what it took or was granted is the class's. */
void move_on_orphan(void *context, enum err error, struct str reply)
{
    end_move(context, error, reply);
}

/* The other shards call this node, from here on, to queries that the class may take. */
void move_state_hints(struct poll_class *class, unsigned but)
{
    struct queue *queue = class->queue;
    for (unsigned i = 0; i < queue->shards.n; i++) {
        if (i == but || (class->hinted & shard_bit(i)) != 0 || !turn_is_up(queue->shards.turns[i]))
            continue;
        class->hinted |= shard_bit(i);
        struct move *move = move_new(class, i);
        call_hint(turn_call(queue->shards.turns[i], &move->call, on_move_reply),
                  .class = class_name(class));
    }
}

/* The class whose oldest poll that may move has waited longest; NULL when there is none. */
static struct poll_class *find_idle_class(struct queue *queue, struct str model)
{
    struct poll_class *found = NULL;
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class *class = queue->classes[i]; class != NULL; class = class->next)
            if (class->work == WORK_QUERIES && !class->is_drained &&
                class->parked.n > class->moving_n && class_takes_model(class, model) &&
                (found == NULL || class->parked.first->since_ms < found->parked.first->since_ms))
                found = class;
    return found;
}

void polls_on_work(struct queue *queue, unsigned shard, struct lines *rest)
{
    struct str model = lines_next(rest);
    uint64_t hops = lines_next_u64(rest);
    struct str tried = lines_next(rest);
    struct turn *turn = queue->shards.turns[shard];
    struct poll_class *class = find_idle_class(queue, model);
    if (queue->parts[shard].open_n == 0)
        queue->parts[shard].open_n = 1;
    if (class != NULL) {
        struct move *move = move_new(class, shard);
        move->is_moving = true;
        class->moving_n++;
        call_claim(turn_call(turn, &move->call, on_move_reply), .class = class_name(class),
                   .is_parking = false, .engine = STR(""), .poll = 0);
        return;
    }
    char text[TRIED_MAX_BYTES];
    int n = snprintf(text, sizeof text, "%s%.*s%s,", tried.n == 0 ? "," : "", STR_ARG(tried),
                     queue->config.node_id);
    if (n > 0 && (size_t)n < sizeof text)
        call_work(turn_forget(turn), .model = model, .tried = ((struct str){text, (size_t)n}),
                  .hops = hops + 1);
}
