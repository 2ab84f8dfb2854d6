/* SPDX-License-Identifier: MIT
 * outbox.c - of several shards: what a script of one has left to be done on another is carried
 * there (lua/turn/outbox.lua, ADR 30).
 *
 *   event "outbox", or a sync --outbox--> nothing is due: over
 *                                 |
 *                                 | items
 *                                 v
 *                          release_lookups on shard 0 --failed--> over: they come again
 *                                 | ok
 *                                 v
 *                          outbox, with these as done, for the next items
 *
 * A node that dies anywhere in between loses nothing: an item stays until it is said to be done,
 * and comes to any node 10 seconds after it was taken. */
#include "shared/queue/queue_internal.h"

#include "generated/verbs.h"

#include <stdlib.h>

/* Items on their way, one a line. */
struct carried {
    struct call call;
    struct queue_shard *part;
    unsigned n;
    struct str items; /* own memory */
};

static void carry(struct queue_shard *part, struct str items);

static void on_outbox(struct call *call, enum err error, struct str reply)
{
    struct queue_shard *part = H2O_STRUCT_FROM_MEMBER(struct queue_shard, outbox_call, call);
    bool has_news = part->outbox_has_news;
    part->outbox_has_news = false;
    if (error == ERR_OK && reply.n > 0)
        carry(part, reply);
    else if (error == ERR_OK && has_news)
        outbox_look(part);
}

/* `done`: NULL for none. */
static void look(struct queue_shard *part, const struct carried *done)
{
    bool is_taking = !call_is_under_way(&part->outbox_call);
    struct lines lines = lines_of(done == NULL ? STR("") : done->items);
    struct verb_writer verb = begin_outbox(
        is_taking ? turn_call(part->turn, &part->outbox_call, on_outbox) : turn_forget(part->turn),
        .is_taking = is_taking);
    for (unsigned i = 0; done != NULL && i < done->n; i++)
        put_outbox_done(&verb, .text = lines_next(&lines));
    end_verb(&verb);
}

static void on_carried(struct call *call, enum err error, struct str reply)
{
    struct carried *carried = H2O_STRUCT_FROM_MEMBER(struct carried, call, call);
    (void)reply;
    if (error == ERR_OK)
        look(carried->part, carried);
    free((char *)carried->items.at);
    free(carried);
}

static void carry(struct queue_shard *part, struct str items)
{
    struct carried *carried = calloc(1, sizeof *carried);
    if (carried == NULL)
        abort();
    carried->part = part;
    carried->items = (struct str){str_copy(items), items.n};
    for (struct lines lines = lines_of(items); lines_are_left(&lines); lines_next(&lines))
        carried->n++;
    struct turn *turn = shards_cluster(&part->queue->shards);
    struct lines lines = lines_of(carried->items);
    struct verb_writer verb = begin_release_lookups(turn_call(turn, &carried->call, on_carried));
    for (unsigned i = 0; i < carried->n; i++)
        put_release_lookups_need(&verb, .text = lines_next(&lines));
    end_verb(&verb);
}

void outbox_look(struct queue_shard *part)
{
    if (part->queue->shards.n == 1)
        return;
    if (call_is_under_way(&part->outbox_call))
        part->outbox_has_news = true; /* it may have looked before they came */
    else
        look(part, NULL);
}
