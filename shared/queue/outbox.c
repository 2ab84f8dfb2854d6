/* SPDX-License-Identifier: MIT
 * outbox.c - with several shards: work that a script of one has left for another is carried there
 * (lua/turn/outbox.lua, ADR 30).
 *
 *   event "outbox", or a sync --outbox--> nothing is due: over
 *                                 |
 *                                 | items
 *                                 v
 *         release_lookups, release_names on shard 0, --failed--> over: they come again
 *         budget_charge on the account's shard
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

/* "$<account> <node> <id> <tokens>" */
static void carry_charge(struct call_start start, struct lines items)
{
    struct str item = lines_next(&items), account = str_cut(&item, ' ');
    struct str node = str_cut(&item, ' '), id = str_cut(&item, ' ');
    uint64_t tokens;
    if (!str_parse_u64(item, &tokens))
        abort(); /* the script has written it */
    call_budget_charge(start, .account = ((struct str){account.at + 1, account.n - 1}),
                       .node = node, .id = id, .tokens = tokens);
}

/* The kinds, by the first byte of an item; 0: any other. */
static const struct outbox_kind {
    char mark;
    bool is_single; /* each has a shard of its own */
    void (*carry)(struct call_start start, struct lines items);
} kinds[] = {{0, false, carry_lookups}, {'@', false, carry_names}, {'$', true, carry_charge}};
enum { KIND_N = sizeof kinds / sizeof *kinds };

static const struct outbox_kind *kind_of(struct str item)
{
    for (unsigned i = 1; i < KIND_N; i++)
        if (item.n > 0 && item.at[0] == kinds[i].mark)
            return &kinds[i];
    return &kinds[0];
}

/* Those of a kind, in memory of their own. */
static struct str pick(struct str items, const struct outbox_kind *kind, unsigned *ret_n)
{
    struct buf picked;
    buf_init(&picked, items.n + 1);
    *ret_n = 0;
    for (struct lines lines = lines_of(items); lines_are_left(&lines);) {
        struct str item = lines_next(&lines);
        if (kind_of(item) != kind)
            continue;
        if ((*ret_n)++ > 0)
            buf_put_char(&picked, '\n');
        buf_put(&picked, item);
    }
    struct str copy = {str_copy(buf_str(&picked)), picked.n};
    buf_fini(&picked);
    return copy;
}

/* Takes the memory of `items`. */
static void carry_items(struct outbox *outbox, const struct outbox_kind *kind, struct str items,
                        unsigned n)
{
    struct carried *carried = mem_zeroed(sizeof *carried);
    *carried = (struct carried){.outbox = outbox, .n = n, .items = items};
    struct call_start start = shards_call(&outbox->part->queue->shards, &carried->call, on_carried);
    kind->carry(start, lines_of(carried->items));
}

static void carry(struct outbox *outbox, struct str items, const struct outbox_kind *kind)
{
    unsigned n;
    struct str picked = pick(items, kind, &n);
    if (n > 0 && !kind->is_single) {
        carry_items(outbox, kind, picked, n);
        return;
    }
    for (struct lines lines = lines_of(picked); n > 0; n--) {
        struct str item = lines_next(&lines);
        carry_items(outbox, kind, (struct str){str_copy(item), item.n}, 1);
    }
    free((char *)picked.at);
}

static void on_outbox(struct call *call, enum err error, struct str reply)
{
    struct outbox *outbox = container_of(call, struct outbox, call);
    bool has_news = outbox->has_news;
    outbox->has_news = false;
    if (error == ERR_OK && reply.n > 0) {
        for (unsigned i = 0; i < KIND_N; i++)
            carry(outbox, reply, &kinds[i]);
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
