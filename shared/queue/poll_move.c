/* SPDX-License-Identifier: MIT
 * poll_move.c - see poll_move.h. */
#include "shared/queue/poll_move.h"

#include "generated/verbs.h"
#include "shared/queue/poll_credits.h"
#include "shared/queue/poll_handover.h"

#include <stdio.h>

enum { TRIED_MAX_BYTES = 512, WORK_CALLS_MAX = 16 };

/* A shard's request for a poll, while this node does not know yet whether it has one. */
struct work_call {
    unsigned shard;
    uint64_t until;  /* polls up to this number were claiming when it came */
    struct buf text; /* model / how often it was passed on / nodes that had no poll */
};

struct moves {
    struct work_call calls[WORK_CALLS_MAX];
    unsigned call_n;
};

struct moves *moves_create(void)
{
    return mem_zeroed(sizeof(struct moves));
}

void moves_destroy(struct moves *moves)
{
    for (unsigned i = 0; i < moves->call_n; i++)
        buf_fini(&moves->calls[i].text);
    free(moves);
}

/* A call of a class to a shard, for itself or for a poll that was cancelled meanwhile. */
struct move {
    struct call call;
    struct poll_class *class;
    unsigned shard;
    bool is_claim;  /* one of class->claims */
    bool is_moving; /* for one of those that are parked */
};

static struct move *create(struct poll_class *class, unsigned shard, bool is_claim)
{
    struct move *move = mem_zeroed(sizeof *move);
    move->class = class;
    move->shard = shard;
    move->is_claim = is_claim;
    class->left_n++;
    return move;
}

/* The word that says what became of the poll, also of one that began within `complete`. */
static struct str next_tag(struct lines *lines)
{
    struct str tag = lines_next(lines);
    if (!str_eq(tag, STR("ok")) && !str_eq(tag, STR("same")))
        return tag;
    (void)lines_next(lines); /* Seq */
    (void)lines_next(lines); /* ms */
    return lines_next(lines);
}

static void end_move(struct move *move, enum err error, struct str reply)
{
    struct poll_class *class = move->class;
    struct lines lines = lines_of(reply);
    struct str tag = next_tag(&lines);
    class->left_n--;
    class->moving_n -= move->is_moving;
    if (move->is_claim)
        class_end_claim(class, move->shard);
    if (error != ERR_OK)
        class_forget_hint(class, move->shard);
    if (str_eq(tag, STR("claim")))
        handover_take(class->queue, class, (struct origin){move->shard, false}, lines.rest);
    else if (str_eq(tag, STR("parked")))
        credits_note(class, move->shard);
    credits_withdraw_surplus(class);
    handover_retry(class->queue, class);
    moves_retry(class->queue);
    free(move);
}

static void on_move_reply(struct call *call, enum err error, struct str reply)
{
    end_move(container_of(call, struct move, call), error, reply);
}

static void on_orphan(void *context, enum err error, struct str reply)
{
    end_move(context, error, reply);
}

void move_leave(struct poll_class *class, struct call *call, unsigned shard, bool is_claim)
{
    call_leave(call, on_orphan, create(class, shard, is_claim));
}

/* The other shards call this node, from here on, to queries that the class may take. */
void move_state_hints(struct poll_class *class, unsigned but)
{
    struct queue *queue = class->queue;
    for (unsigned i = 0; i < queue->shards.n; i++) {
        if (i == but || (class->hinted & shard_bit(i)) != 0 || !turn_is_up(queue->shards.turns[i]))
            continue;
        class_note_hint(class, i);
        struct move *move = create(class, i, false);
        call_hint(turn_call(queue->shards.turns[i], &move->call, on_move_reply),
                  .class = class_name(class));
    }
}

/* --- called to work --------------------------------------------------------------------------- */

/* One that names the model comes before one that takes any, then the one that has waited longer. */
static bool is_better(const struct poll_class *class, const struct poll_class *found,
                      struct str model)
{
    if (found == NULL)
        return true;
    bool is_listed = class_lists_model(class, model), was_listed = class_lists_model(found, model);
    if (is_listed != was_listed)
        return is_listed;
    return polls_first(&class->parked)->since_ms < polls_first(&found->parked)->since_ms;
}

/* The class of the poll that is to move; NULL when there is none. */
static struct poll_class *find_idle_class(struct queue *queue, struct str model)
{
    struct poll_class *found = NULL;
    for (struct poll_class *class = NULL; (class = classes_next(queue, class)) != NULL;)
        if (class->work == WORK_QUERIES && class_idle_n(class) > 0 &&
            class_takes_model(class, model) && is_better(class, found, model))
            found = class;
    return found;
}

/* One of them may be parked with the next reply: of those up to that number, for they looked at the
 * shard before it called, or not at all. */
static bool may_become_idle(const struct poll_class *class, uint64_t until)
{
    if (class->parked.n > 0 && class->moving_n > 0)
        return true;
    list_for_each (const struct poll, poll, &class->claiming.list, link)
        if (poll->number > until || poll->may_park)
            return poll->number <= until;
    return false;
}

static bool is_worth_waiting(struct queue *queue, struct str model, uint64_t until)
{
    for (struct poll_class *class = NULL; (class = classes_next(queue, class)) != NULL;)
        if (class->work == WORK_QUERIES && !class->is_drained && class_takes_model(class, model) &&
            may_become_idle(class, until))
            return true;
    return false;
}

/* Its credit is taken back at once: a hand-over that crosses this goes to another poll, or back. If
 * it moves in vain the next sync states a credit again, and hints call it until then. */
static void start_move(struct poll_class *class, unsigned shard)
{
    struct move *move = create(class, shard, true);
    move->is_moving = true;
    class->moving_n++;
    class_begin_claim(class, shard);
    call_claim(turn_call(class->queue->shards.turns[shard], &move->call, on_move_reply),
               .class = class_name(class), .is_parking = false, .engine = STR(""), .poll = 0);
    credits_withdraw_surplus(class);
}

/* To a node that was not tried yet. */
static void pass_on(struct queue *queue, unsigned shard, struct lines lines)
{
    struct str model = lines_next(&lines);
    uint64_t hops = lines_next_u64(&lines);
    struct str tried = lines_next(&lines);
    char text[TRIED_MAX_BYTES];
    int n = snprintf(text, sizeof text, "%s%.*s%s,", tried.n == 0 ? "," : "", STR_ARG(tried),
                     queue->config.node_id);
    if (n > 0 && (size_t)n < sizeof text)
        call_work(turn_forget(queue->shards.turns[shard]), .model = model,
                  .tried = ((struct str){text, (size_t)n}), .hops = hops + 1);
}

static void answer_call(struct queue *queue, unsigned shard, uint64_t until, struct str text)
{
    struct moves *moves = queue->moves;
    struct lines lines = lines_of(text), all = lines;
    struct str model = lines_next(&lines);
    struct poll_class *class = find_idle_class(queue, model);
    queue->parts[shard].is_called |= class == NULL;
    if (class != NULL) {
        start_move(class, shard);
    } else if (moves->call_n < WORK_CALLS_MAX && is_worth_waiting(queue, model, until)) {
        struct work_call *call = &moves->calls[moves->call_n++];
        call->shard = shard;
        call->until = until;
        buf_init(&call->text, text.n + 1);
        buf_put(&call->text, text);
    } else {
        pass_on(queue, shard, all);
    }
}

void moves_on_work(struct queue *queue, unsigned shard, struct lines *rest)
{
    answer_call(queue, shard, queue->poll_n, rest->rest);
}

void moves_retry(struct queue *queue)
{
    if (queue->moves->call_n == 0)
        return;
    struct moves now = *queue->moves;
    queue->moves->call_n = 0;
    for (unsigned i = 0; i < now.call_n; i++) {
        answer_call(queue, now.calls[i].shard, now.calls[i].until, buf_str(&now.calls[i].text));
        buf_fini(&now.calls[i].text);
    }
}
