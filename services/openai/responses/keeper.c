/* SPDX-License-Identifier: MIT
 * keeper.c - see keeper.h. */
#include "services/openai/responses/keeper.h"

#include "generated/verbs.h"
#include "services/openai/responses/kept.h"
#include "shared/base/mem.h"
#include "shared/queue/queue.h"

enum { PACKED_MAX_BYTES = 9 << 20 /* as lua/queue/response_keep.lua takes it */ };

struct keeper {
    struct list_link link;
    struct openai *openai;
    struct watch watch;
    struct call call;
    bool has_changed; /* while it was asked */
    char topic[];
};

static void end(struct keeper *k)
{
    queue_unwatch(k->openai->queue, &k->watch);
    call_detach(&k->call);
    list_remove(&k->link);
    k->openai->keeper_n--;
    free(k);
}

static void check(struct keeper *k);

static void on_kept(struct call *call, enum err error, struct str reply)
{
    (void)error;
    (void)reply;
    end(container_of(call, struct keeper, call));
}

static void on_read(struct call *call, enum err error, struct str reply)
{
    struct keeper *k = container_of(call, struct keeper, call);
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    struct buf packed;
    if (err_is_outage(error) || (error == ERR_OK && str_eq(tag, STR("runs")))) {
        if (k->has_changed)
            check(k); /* else the queue says when there is something to look at */
        return;
    }
    (void)str_cut(&lines.rest, '\0');
    if (error != ERR_OK || !str_eq(tag, STR("ok")) || lines.rest.n == 0) {
        end(k);
        return;
    }
    buf_init(&packed, PACKED_MAX_BYTES);
    kept_pack(&packed, lines.rest);
    if (packed.is_over)
        end(k);
    else
        call_response_keep(shards_call(queue_shards(k->openai->queue), &k->call, on_kept),
                           .topic = k->watch.topic, .seq = k->watch.seq, .log = buf_str(&packed));
    buf_fini(&packed);
}

static void check(struct keeper *k)
{
    k->has_changed = call_is_under_way(&k->call);
    if (k->has_changed)
        return;
    call_response_log(shards_call(queue_shards(k->openai->queue), &k->call, on_read),
                      .topic = k->watch.topic, .seq = k->watch.seq);
}

static void on_changed(struct watch *watch)
{
    check(container_of(watch, struct keeper, watch));
}

static void on_outcome(struct watch *watch, struct str outcome)
{
    (void)outcome;
    check(container_of(watch, struct keeper, watch));
}

void keeper_start(struct openai *openai, struct str topic, uint64_t seq)
{
    if (openai->keeper_n == KEEPERS_MAX || openai->has_ended)
        return;
    struct keeper *k = mem_zeroed(sizeof *k + topic.n);
    k->openai = openai;
    k->watch = (struct watch){.topic = {memcpy(k->topic, topic.at, topic.n), topic.n},
                              .seq = seq,
                              .on_outcome = on_outcome,
                              .on_changed = on_changed};
    list_append(&openai->keepers, &k->link);
    openai->keeper_n++;
    queue_watch(openai->queue, &k->watch);
    check(k);
}

void keepers_fini(struct openai *openai)
{
    list_for_each (struct keeper, k, &openai->keepers, link)
        end(k);
}
