/* SPDX-License-Identifier: MIT
 * outbox.c - with several shards: work that a script of one has left for another is carried there
 * (lua/turn/outbox.lua, ADR 30).
 *
 *   event "outbox", or a sync --outbox--> nothing is due: over
 *                                 |
 *                                 | items
 *                                 v
 *         release_lookups, release_names on shard 0 --failed--> over: they come again
 *                                 | ok
 *                                 v
 *                          outbox, with these as done, for the next items
 *
 * A node that dies anywhere in between loses nothing: an item stays until it is said to be done,
 * and comes to any node 10 seconds after it was taken. */
#include "shared/queue/outbox.h"

#include "generated/verbs.h"

struct outbox {
    struct queue_shard *part;
    struct call call;
    bool has_news; /* since it was asked for */
};

struct outboxes {
    struct outbox shards[SHARDS_MAX];
};

/* Items of one kind on their way, one a line. */
struct carried {
    struct call call;
    struct outbox *outbox;
    unsigned n;
    struct str items; /* own memory */
};

static void fetch(struct outbox *outbox, const struct carried *done);

static void on_carried(struct call *call, enum err error, struct str reply)
{
    struct carried *carried = container_of(call, struct carried, call);
    (void)reply;
    if (error == ERR_OK)
        fetch(carried->outbox, carried);
    free((char *)carried->items.at);
    free(carried);
}

static void carry_lookups(struct call_start start, struct lines items)
{
    struct verb_writer verb = begin_release_lookups(start);
    while (lines_are_left(&items))
        put_release_lookups_need(&verb, .text = lines_next(&items));
    end_verb(&verb);
}

static void carry_names(struct call_start start, struct lines items)
{
    struct verb_writer verb = begin_release_names(start);
    while (lines_are_left(&items))
        put_release_names_left(&verb, .text = lines_next(&items));
    end_verb(&verb);
}

/* Those of names, or the others, in memory of their own. */
static struct str pick(struct str items, bool is_names, unsigned *ret_n)
{
    struct buf picked;
    buf_init(&picked, items.n + 1);
    *ret_n = 0;
    for (struct lines lines = lines_of(items); lines_are_left(&lines);) {
        struct str item = lines_next(&lines);
        if ((item.at[0] == '@') != is_names)
            continue;
        if ((*ret_n)++ > 0)
            buf_put_char(&picked, '\n');
        buf_put(&picked, item);
    }
    struct str copy = {str_copy(buf_str(&picked)), picked.n};
    buf_fini(&picked);
    return copy;
}

static void carry(struct outbox *outbox, struct str items, bool is_names)
{
    unsigned n;
    struct str picked = pick(items, is_names, &n);
    if (n == 0) {
        free((char *)picked.at);
        return;
    }
    struct carried *carried = mem_zeroed(sizeof *carried);
    *carried = (struct carried){.outbox = outbox, .n = n, .items = picked};
    struct turn *turn = shards_cluster(&outbox->part->queue->shards);
    struct call_start start = turn_call(turn, &carried->call, on_carried);
    (is_names ? carry_names : carry_lookups)(start, lines_of(carried->items));
}

static void on_outbox(struct call *call, enum err error, struct str reply)
{
    struct outbox *outbox = container_of(call, struct outbox, call);
    bool has_news = outbox->has_news;
    outbox->has_news = false;
    if (error == ERR_OK && reply.n > 0) {
        carry(outbox, reply, false);
        carry(outbox, reply, true);
    } else if (error == ERR_OK && has_news) {
        outbox_check(outbox->part);
    }
}

/* `done`: NULL for none. */
static void fetch(struct outbox *outbox, const struct carried *done)
{
    struct turn *turn = outbox->part->turn;
    bool is_taking = !call_is_under_way(&outbox->call);
    struct lines lines = lines_of(done == NULL ? STR("") : done->items);
    struct verb_writer verb =
        begin_outbox(is_taking ? turn_call(turn, &outbox->call, on_outbox) : turn_forget(turn),
                     .is_taking = is_taking);
    for (unsigned i = 0; done != NULL && i < done->n; i++)
        put_outbox_done(&verb, .text = lines_next(&lines));
    end_verb(&verb);
}

void outbox_check(struct queue_shard *part)
{
    struct outbox *outbox = &part->queue->outboxes->shards[part->number];
    if (part->queue->shards.n == 1)
        return;
    if (call_is_under_way(&outbox->call))
        outbox->has_news = true; /* it may have read before they came */
    else
        fetch(outbox, NULL);
}

struct outboxes *outboxes_create(struct queue *queue)
{
    struct outboxes *all = mem_zeroed(sizeof *all);
    for (unsigned i = 0; i < queue->shards.n; i++)
        all->shards[i].part = &queue->parts[i];
    return all;
}

void outboxes_destroy(struct outboxes *outboxes)
{
    free(outboxes);
}
